#include "math/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace capstan {
namespace {

template <class T>
std::vector<T> random_values(size_t n, double spread) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal(0, spread);
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(normal(random));
  return x;
}

template <class T>
double log_sum_exp(const T* x, int64_t n) {
  double largest = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, double(x[i]));
  for (int64_t i = 0; i < n; ++i) sum += std::exp(double(x[i]) - largest);
  return largest + std::log(sum);
}

template <class T>
struct Results {
  std::vector<T> softmax, log_softmax, loss, backprop, sparse_loss, sparse_backprop;
  bool operator==(const Results&) const = default;
};

template <class T>
Results<T> run_all(const std::vector<T>& x, const std::vector<T>& labels,
                   const std::vector<int64_t>& classes, int64_t rows, int64_t cols, int threads,
                   Isa isa) {
  ThreadPool pool(threads);
  const SoftmaxArgs<T> in{x.data(), rows, cols};
  const size_t n = x.size(), r = static_cast<size_t>(rows);
  Results<T> out{std::vector<T>(n), std::vector<T>(n), std::vector<T>(r),
                 std::vector<T>(n), std::vector<T>(r), std::vector<T>(n)};
  softmax_rows(in, out.softmax.data(), pool, isa);
  log_softmax_rows(in, out.log_softmax.data(), pool, isa);
  cross_entropy_rows(in, labels.data(), out.loss.data(), out.backprop.data(), pool, isa);
  sparse_cross_entropy_rows(in, classes.data(), out.sparse_loss.data(), out.sparse_backprop.data(),
                            pool, isa);
  return out;
}

template <class T>
void expect_exact(int64_t rows, int64_t cols, Isa isa, double tolerance) {
  const auto x = random_values<T>(size_t(rows * cols), 5);
  std::vector<T> labels(x.size());
  std::vector<int64_t> classes;
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = T(i % 3) / T(cols);
  for (int64_t r = 0; r < rows; ++r) classes.push_back((r * 7) % cols);
  const Results<T> got = run_all(x, labels, classes, rows, cols, 1, isa);
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = x.data() + r * cols;
    const double log_sum = log_sum_exp(row, cols);
    double loss = 0;
    for (int64_t c = 0; c < cols; ++c) {
      const size_t at = size_t(r * cols + c);
      const double log_share = double(row[c]) - log_sum, share = std::exp(log_share);
      const double hot = c == classes[size_t(r)] ? 1 : 0;
      ASSERT_NEAR(got.softmax[at], share, tolerance);
      ASSERT_NEAR(got.log_softmax[at], log_share, 40 * tolerance);
      ASSERT_NEAR(got.backprop[at], share - double(labels[at]), tolerance);
      ASSERT_NEAR(got.sparse_backprop[at], share - hot, tolerance);
      loss -= double(labels[at]) * log_share;
    }
    ASSERT_NEAR(got.loss[size_t(r)], loss, 40 * tolerance);
    ASSERT_NEAR(got.sparse_loss[size_t(r)], log_sum - double(row[classes[size_t(r)]]),
                40 * tolerance);
  }
}

TEST(Softmax, MatchesDoublePrecision) {
  for (Isa isa : machine_isas())
    for (int64_t cols : {1, 2, 7, 10, 16, 33, 1000}) {
      expect_exact<float>(5, cols, isa, 3e-7);
      expect_exact<double>(5, cols, isa, 4e-15);
    }
}

TEST(Softmax, GivesTheSameBitsForAnyNumberOfThreads) {
  const auto x = random_values<float>(3000 * 10, 3);
  const std::vector<float> labels(x.size(), 0.1f);
  const std::vector<int64_t> classes(3000, 4);
  EXPECT_TRUE(run_all(x, labels, classes, 3000, 10, 1, best_isa()) ==
              run_all(x, labels, classes, 3000, 10, 3, best_isa()));
}

TEST(Softmax, SurvivesLargeAndMinusInfiniteLogits) {
  ThreadPool pool(1);
  for (Isa isa : machine_isas()) {
    const float x[] = {1e30f, -INFINITY, 1e30f}, labels[] = {1, 0, 0};
    float out[3], loss, backprop[3];
    softmax_rows(SoftmaxArgs<float>{x, 1, 3}, out, pool, isa);
    EXPECT_FLOAT_EQ(out[0], 0.5f);
    EXPECT_EQ(out[1], 0.0f);
    cross_entropy_rows(SoftmaxArgs<float>{x, 1, 3}, labels, &loss, backprop, pool, isa);
    EXPECT_TRUE(std::isnan(loss));  // 0 times infinity, as in TensorFlow
    EXPECT_FLOAT_EQ(backprop[0], -0.5f);
  }
}

TEST(Softmax, OfARowWithNanIsNan) {
  ThreadPool pool(1);
  for (Isa isa : machine_isas()) {
    float x[] = {1, NAN, 2, 3};
    softmax_rows(SoftmaxArgs<float>{x, 1, 4}, x, pool, isa);
    for (float v : x) EXPECT_TRUE(std::isnan(v));
  }
}

}  // namespace
}  // namespace capstan
