#include "math/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace capstan {
namespace {

constexpr Reduction kAll[] = {Reduction::kSum, Reduction::kProduct, Reduction::kMax,
                              Reduction::kMin};

template <class T>
std::vector<T> random_values(int64_t n) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  std::vector<T> x(static_cast<size_t>(n));
  for (T& v : x) v = static_cast<T>(uniform(random));
  return x;
}

double join(Reduction how, double a, double b) {
  switch (how) {
    case Reduction::kSum: return a + b;
    case Reduction::kProduct: return a * b;
    case Reduction::kMax: return std::max(a, b);
    default: return std::min(a, b);
  }
}

double neutral(Reduction how) {
  switch (how) {
    case Reduction::kSum: return 0;
    case Reduction::kProduct: return 1;
    case Reduction::kMax: return -INFINITY;
    default: return INFINITY;
  }
}

template <class T>
void expect_exact(int64_t rows, int64_t cols, Isa isa, double tolerance) {
  SCOPED_TRACE(testing::Message() << rows << "x" << cols << " isa " << int(isa));
  ThreadPool pool(1);
  const std::vector<T> x = random_values<T>(rows * cols);
  for (Reduction how : kAll) {
    std::vector<T> by_row(static_cast<size_t>(rows)), by_col(static_cast<size_t>(cols));
    reduce_rows(how, x.data(), by_row.data(), rows, cols, pool, isa);
    reduce_columns(how, x.data(), by_col.data(), rows, cols, pool, isa);
    std::vector<double> row(by_row.size(), neutral(how)), col(by_col.size(), neutral(how));
    for (size_t r = 0; r < row.size(); ++r)
      for (size_t c = 0; c < col.size(); ++c) {
        const double v = x[r * col.size() + c];
        row[r] = join(how, row[r], v);
        col[c] = join(how, col[c], v);
      }
    for (size_t r = 0; r < row.size(); ++r) EXPECT_NEAR(by_row[r] / row[r], 1, tolerance);
    for (size_t c = 0; c < col.size(); ++c) EXPECT_NEAR(by_col[c] / col[c], 1, tolerance);
  }
}

TEST(Reduce, MatchesDoublePrecision) {
  for (Isa isa : machine_isas())
    for (int64_t rows : {1, 3, 100, 300})
      for (int64_t cols : {1, 7, 10, 64, 100, 129}) {
        expect_exact<float>(rows, cols, isa, 2e-5);
        expect_exact<double>(rows, cols, isa, 1e-13);
      }
}

TEST(Reduce, OfNothingIsTheNeutralElement) {
  ThreadPool pool(1);
  float out[2] = {7, 7};
  reduce_rows(Reduction::kMax, static_cast<const float*>(nullptr), out, 2, 0, pool);
  EXPECT_EQ(out[1], -INFINITY);
  reduce_columns(Reduction::kSum, static_cast<const float*>(nullptr), out, 0, 2, pool);
  EXPECT_EQ(out[1], 0);
}

TEST(Reduce, KeepsTheDigitsOfLongSums) {
  ThreadPool pool(1);
  const std::vector<float> x(2'000'000, 0.1f);
  float sum;
  reduce_rows(Reduction::kSum, x.data(), &sum, 1, int64_t(x.size()), pool);
  EXPECT_NEAR(sum, 200000.0, 2);
  reduce_columns(Reduction::kSum, x.data(), &sum, int64_t(x.size()), 1, pool);
  EXPECT_NEAR(sum, 200000.0, 100);
}

TEST(Reduce, GivesTheSameBitsForAnyNumberOfThreads) {
  const std::vector<float> x = random_values<float>(300'000);
  ThreadPool one(1), three(3);
  for (int64_t cols : {300'000, 1000, 10})
    for (Reduction how : kAll) {
      const int64_t rows = 300'000 / cols;
      std::vector<float> a(static_cast<size_t>(std::max(rows, cols))), b = a;
      reduce_rows(how, x.data(), a.data(), rows, cols, one);
      reduce_rows(how, x.data(), b.data(), rows, cols, three);
      EXPECT_EQ(a, b);
      reduce_columns(how, x.data(), a.data(), rows, cols, one);
      reduce_columns(how, x.data(), b.data(), rows, cols, three);
      EXPECT_EQ(a, b);
    }
}

TEST(Reduce, ExtremesKeepANan) {
  ThreadPool pool(1);
  for (Isa isa : machine_isas())
    for (size_t at : {size_t{0}, size_t{5}, size_t{18}}) {
      std::vector<float> x(19, 1.0f);
      x[at] = NAN;
      float out;
      reduce_rows(Reduction::kMax, x.data(), &out, 1, 19, pool, isa);
      EXPECT_TRUE(std::isnan(out)) << at;
      reduce_columns(Reduction::kMin, x.data(), &out, 19, 1, pool, isa);
      EXPECT_TRUE(std::isnan(out)) << at;
    }
}

TEST(Reduce, ArgmaxTakesTheFirstOfEquals) {
  ThreadPool pool(2);
  const float x[] = {1, 3, 3, 2, NAN, 5, 5, 1};
  int64_t out[2];
  argmax_rows(x, out, 2, 4, pool);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 1);
}

}  // namespace
}  // namespace capstan
