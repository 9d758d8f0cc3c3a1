#include "math/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace capstan {
namespace {

struct Case {
  bool trans_a, trans_b;
  int64_t m, n, k;
};

// Row strides are longer than the rows, to see that the gaps stay as they are.
template <class T>
struct Problem {
  explicit Problem(const Case& c)
      : size(c), lda((c.trans_a ? c.m : c.k) + 3), ldb((c.trans_b ? c.k : c.n) + 1), ldc(c.n + 2) {
    std::mt19937 random(7);
    std::uniform_real_distribution<T> uniform(-1, 1);
    a.resize(static_cast<size_t>((c.trans_a ? c.k : c.m) * lda));
    b.resize(static_cast<size_t>((c.trans_b ? c.n : c.k) * ldb));
    out.resize(static_cast<size_t>(c.m * ldc));
    for (auto* v : {&a, &b, &out})
      for (T& x : *v) x = uniform(random);
  }
  double expected(int64_t i, int64_t j, bool accumulate) const {
    double sum = accumulate ? double(out[size_t(i * ldc + j)]) : 0;
    for (int64_t p = 0; p < size.k; ++p)
      sum += double(a[size_t(size.trans_a ? p * lda + i : i * lda + p)]) *
             double(b[size_t(size.trans_b ? j * ldb + p : p * ldb + j)]);
    return sum;
  }
  std::vector<T> run(bool accumulate, int threads, Isa isa) const;
  Case size;
  int64_t lda, ldb, ldc;
  std::vector<T> a, b, out;
};

template <>
std::vector<float> Problem<float>::run(bool accumulate, int threads, Isa isa) const {
  ThreadPool pool(threads);
  std::vector<float> c = out;
  sgemm(size.trans_a, size.trans_b, size.m, size.n, size.k, a.data(), lda, b.data(), ldb, c.data(),
        ldc, accumulate, pool, isa);
  return c;
}

template <>
std::vector<double> Problem<double>::run(bool accumulate, int threads, Isa isa) const {
  ThreadPool pool(threads);
  std::vector<double> c = out;
  dgemm(size.trans_a, size.trans_b, size.m, size.n, size.k, a.data(), lda, b.data(), ldb, c.data(),
        ldc, accumulate, pool, isa);
  return c;
}

template <class T>
void expect_product(const Case& c, bool accumulate, Isa isa) {
  SCOPED_TRACE(testing::Message() << c.trans_a << c.trans_b << " " << c.m << "x" << c.n << "x"
                                  << c.k << " isa " << int(isa) << " accumulate " << accumulate);
  const Problem<T> p(c);
  const std::vector<T> got = p.run(accumulate, 1, isa);
  const double tolerance = (sizeof(T) == 4 ? 1e-6 : 1e-15) * (4 + double(c.k) / 4);
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < p.ldc; ++j) {
      const size_t at = size_t(i * p.ldc + j);
      if (j < c.n)
        ASSERT_NEAR(got[at], p.expected(i, j, accumulate), tolerance) << i << "," << j;
      else
        ASSERT_EQ(got[at], p.out[at]) << "a gap between rows was written";
    }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      for (int64_t m : {1, 5, 7, 33})
        for (int64_t n : {1, 4, 10, 16, 23, 50})
          for (int64_t k : {0, 1, 3, 10, 37}) all.push_back({ta, tb, m, n, k});
      all.push_back({ta, tb, 32, 70, 900});
      all.push_back({ta, tb, 130, 101, 801});
    }
  return all;
}

TEST(Gemm, MatchesTheSumInDoublePrecision) {
  for (Isa isa : machine_isas())
    for (const Case& c : cases())
      for (bool accumulate : {false, true})
        if (c.m < 100 || accumulate) expect_product<float>(c, accumulate, isa);
}

TEST(Gemm, MatchesTheSumForDoubles) {
  for (Isa isa : machine_isas())
    for (const Case& c : cases()) expect_product<double>(c, c.m == 7, isa);
}

TEST(Gemm, GivesTheSameBitsForAnyNumberOfThreads) {
  for (Isa isa : machine_isas())
    for (const Case& c : {Case{false, false, 200, 300, 200}, Case{true, false, 784, 100, 100},
                          Case{false, true, 32, 500, 500}, Case{true, true, 210, 150, 300}}) {
      const Problem<float> p(c);
      EXPECT_EQ(p.run(true, 1, isa), p.run(true, 3, isa)) << c.m << "x" << c.n << "x" << c.k;
    }
}

TEST(Gemm, CarriesNotANumber) {
  Case c{false, false, 7, 17, 5};
  Problem<float> p(c);
  p.a[0] = NAN;
  const std::vector<float> got = p.run(false, 1, best_isa());
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_FALSE(std::isnan(got[size_t(p.ldc)]));
}

}  // namespace
}  // namespace capstan
