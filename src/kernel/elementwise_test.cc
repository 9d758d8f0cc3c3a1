#include "kernel/elementwise.h"

#include <gtest/gtest.h>

#include <numeric>

namespace capstan {
namespace {

void add(const void* const* in, void* out, int64_t n) {
  const auto *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = a[i] + b[i];
}
void mul(const void* const* in, void* out, int64_t n) {
  const auto *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = a[i] * b[i];
}
void widen(const void* const* in, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<double*>(out)[i] = static_cast<const float*>(in[0])[i];
}
void narrow(const void* const* in, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    static_cast<float*>(out)[i] = float(static_cast<const double*>(in[0])[i]);
  }
}

constexpr DType kF = DType::kFloat;

Tensor counting(const Shape& shape, float first = 1) {
  Tensor t(kF, shape);
  std::iota(t.data<float>(), t.data<float>() + t.size(), first);
  return t;
}

// The element of a broadcast operand at an index of the output, the slow and sure way.
float at(const Tensor& t, const Shape& shape, int64_t flat) {
  int64_t offset = 0, stride = 1;
  for (int d = shape.rank() - 1, o = t.shape().rank() - 1; d >= 0; --d, --o) {
    const int64_t index = flat % shape[d];
    flat /= shape[d];
    if (o < 0) continue;
    if (t.shape()[o] != 1) offset += index * stride;
    stride *= t.shape()[o];
  }
  return t.data<float>()[offset];
}

Tensor run(const ElementwiseChain& chain, std::vector<const Tensor*> inputs, const Shape& shape,
           int threads = 1) {
  ThreadPool pool(threads);
  Tensor out(kF, shape);
  Tensor* outputs[] = {&out};
  chain.run(inputs, shape, outputs, pool);
  return out;
}

void expect_sum(const Shape& a_shape, const Shape& b_shape, const Shape& shape) {
  const ElementwiseChain one({{add, {0, 1}, kF}}, {kF, kF}, {2});
  const ElementwiseChain two({{add, {0, 1}, kF}, {mul, {2, 1}, kF}}, {kF, kF}, {3});
  const Tensor a = counting(a_shape), b = counting(b_shape, 0.5f);
  const Tensor sum = run(one, {&a, &b}, shape), fused = run(two, {&a, &b}, shape, 3);
  for (int64_t i = 0; i < sum.size(); ++i) {
    const float x = at(a, shape, i), y = at(b, shape, i);
    ASSERT_EQ(sum.data<float>()[i], x + y) << a_shape.text() << b_shape.text() << i;
    ASSERT_EQ(fused.data<float>()[i], (x + y) * y) << a_shape.text() << b_shape.text() << i;
  }
}

TEST(Elementwise, BroadcastsEveryKindOfOperand) {
  expect_sum({}, {}, {});
  expect_sum({7}, {7}, {7});
  expect_sum({5000}, {}, {5000});
  expect_sum({}, {3, 5}, {3, 5});
  expect_sum({100, 10}, {10}, {100, 10});      // a row that repeats within a tile
  expect_sum({100, 10}, {100, 1}, {100, 10});  // a column
  expect_sum({30, 784}, {784}, {30, 784});     // rows as tiles
  expect_sum({30, 784}, {30, 1}, {30, 784});   // one element per row
  expect_sum({3, 5000}, {5000}, {3, 5000});    // several tiles per row
  expect_sum({3, 5000}, {3, 1}, {3, 5000});
  expect_sum({4, 1, 6}, {5, 1}, {4, 5, 6});
  expect_sum({4, 1, 600}, {5, 1}, {4, 5, 600});
  expect_sum({2, 3, 4, 5}, {2, 1, 4, 1}, {2, 3, 4, 5});
  expect_sum({2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5});
  expect_sum({1, 700}, {9, 1}, {9, 700});    // neither is full
  expect_sum({300000}, {300000}, {300000});  // several pieces
  expect_sum({40000, 7}, {7}, {40000, 7});
}

TEST(Elementwise, AnEmptyOutputRunsNothing) {
  const ElementwiseChain chain({{add, {0, 1}, kF}}, {kF, kF}, {2});
  const Tensor a(kF, Shape{0, 3}), b = counting({1});
  EXPECT_EQ(run(chain, {&a, &b}, {0, 3}).size(), 0);
}

TEST(Elementwise, NamesTheShapeThatDoesNotBroadcast) {
  const ElementwiseChain chain({{add, {0, 1}, kF}}, {kF, kF}, {2});
  const Shape a{3}, b{4};
  const Shape* shapes[] = {&a, &b};
  EXPECT_THROW(chain.bind(shapes, Shape{3}), Error);
}

TEST(Elementwise, KeepsSeveralRegistersAndChangesWidth) {
  // y = a + b; d = double(y); f = float(d); z = f * a
  const ElementwiseChain chain(
      {{add, {0, 1}, kF}, {widen, {2}, DType::kDouble}, {narrow, {3}, kF}, {mul, {4, 0}, kF}},
      {kF, kF}, {5, 2});
  const Tensor a = counting({3000}), b = counting({3000}, 2);
  Tensor z(kF, Shape{3000}), y(kF, Shape{3000});
  const Tensor* inputs[] = {&a, &b};
  Tensor* outputs[] = {&z, &y};
  ThreadPool pool(2);
  chain.run(inputs, Shape{3000}, outputs, pool);
  for (int64_t i = 0; i < 3000; ++i) {
    const float sum = a.data<float>()[i] + b.data<float>()[i];
    ASSERT_EQ(y.data<float>()[i], sum);
    ASSERT_EQ(z.data<float>()[i], sum * a.data<float>()[i]);
  }
}

TEST(Elementwise, AnOutputMayBeAnInputThatIsReadLater) {
  // y = a + b is written over a; z = y * a still needs the old a.
  const ElementwiseChain chain({{add, {0, 1}, kF}, {mul, {2, 0}, kF}}, {kF, kF}, {2, 3});
  Tensor a = counting({2500});
  const Tensor before = a.clone(), b = counting({2500}, 3);
  Tensor z(kF, Shape{2500});
  const Tensor* inputs[] = {&a, &b};
  Tensor* outputs[] = {&a, &z};
  ThreadPool pool(1);
  chain.run(inputs, Shape{2500}, outputs, pool);
  for (int64_t i = 0; i < 2500; ++i) {
    const float sum = before.data<float>()[i] + b.data<float>()[i];
    ASSERT_EQ(a.data<float>()[i], sum);
    ASSERT_EQ(z.data<float>()[i], sum * before.data<float>()[i]);
  }
}

TEST(Elementwise, ALongChainTakesItsScratchFromTheHeap) {
  // All values stay alive until the end: 20 registers of a tile each.
  std::vector<ChainOp> ops;
  for (int i = 0; i < 20; ++i) ops.push_back({add, {i == 0 ? 0 : i, 0}, kF});
  for (int i = 0; i < 20; ++i) ops.push_back({add, {20 + i, 1 + i}, kF});
  const ElementwiseChain chain(std::move(ops), {kF}, {40});
  const Tensor x = counting({2048});
  const Tensor out = run(chain, {&x}, {2048});
  // Register i+1 holds (i+2)x; the second half adds them all to 21x.
  EXPECT_EQ(out.data<float>()[9], 10 * (21 + 20 * 23 / 2.0f));
}

TEST(Elementwise, ABoundChainServesManyThreads) {
  const ElementwiseChain chain({{add, {0, 1}, kF}, {mul, {2, 1}, kF}}, {kF, kF}, {3});
  const Tensor a = counting({64, 100}), b = counting({100});
  const Shape* shapes[] = {&a.shape(), &b.shape()};
  const BoundChain bound = chain.bind(shapes, Shape{64, 100});
  std::vector<Tensor> results(4);
  std::vector<std::jthread> threads;
  for (Tensor& result : results) {
    threads.emplace_back([&] {
      ThreadPool pool(1);
      result = Tensor(kF, Shape{64, 100});
      const Tensor* inputs[] = {&a, &b};
      Tensor* outputs[] = {&result};
      for (int i = 0; i < 50; ++i) bound.run(inputs, outputs, pool);
    });
  }
  threads.clear();
  for (const Tensor& result : results) EXPECT_TRUE(result.equals(results[0]));
}

}  // namespace
}  // namespace capstan
