#include "kernel/accumulator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <thread>

namespace capstan {
namespace {

struct Taken {
  int calls = 0;
  std::optional<Error> error;
  Tensor value;

  float number(int64_t i = 0) const { return value.data<float>()[i]; }
};

Accumulator::DoneTake note(Taken& taken) {
  return [&taken](const Error* error, Tensor value) {
    ++taken.calls;
    if (error) taken.error = *error;
    taken.value = std::move(value);
  };
}

std::shared_ptr<Accumulator> make(
    Accumulator::Reduction reduction = Accumulator::Reduction::kMean) {
  return std::make_shared<Accumulator>("grad", DType::kFloat, Shape{3}, reduction);
}

ThreadPool pool(2);

Tensor gradient(float a, float b, float c) { return Tensor::of<float>({3}, {a, b, c}); }

TEST(Accumulator, HandsOutTheMeanOfAllThatCameIn) {
  auto acc = make();
  acc->apply(0, gradient(1, 2, 3), pool);
  acc->apply(0, gradient(1, 2, 4), pool);
  acc->apply(0, gradient(.1f, .7f, .9f), pool);
  Taken taken;
  acc->take(2, nullptr, note(taken));  // more than required are there: the mean is of three
  // Recorded from TensorFlow: the sum divided, not multiplied by a reciprocal.
  EXPECT_TRUE(taken.value.equals(Tensor::of<float>({3}, {2.1f / 3, 4.7f / 3, 7.9f / 3})));
  EXPECT_EQ(acc->accumulated(), 0);
}

// As a peer shows its memory.
Tensor shown(const Tensor& t) {
  return Tensor::view(t.dtype(), t.shape(), t.raw(), std::make_shared<Tensor>(t));
}

TEST(Accumulator, LeavesTheMemoryOfPeersAsItIs) {
  for (bool waits : {false, true}) {
    auto acc = make();
    Tensor first = gradient(1, 2, 3), second = gradient(3, 3, 4);
    Taken taken;
    if (waits) acc->take(2, nullptr, note(taken));
    acc->apply(0, shown(first), pool);
    acc->apply(0, shown(second), pool);
    if (!waits) acc->take(2, nullptr, note(taken));
    EXPECT_TRUE(taken.value.equals(gradient(2, 2.5f, 3.5f)));
    EXPECT_TRUE(first.equals(gradient(1, 2, 3)));
    EXPECT_TRUE(second.equals(gradient(3, 3, 4)));
  }
}

TEST(Accumulator, AddsLargeGradientsOnManyThreads) {
  const Shape shape{200'001};
  auto acc =
      std::make_shared<Accumulator>("grad", DType::kFloat, shape, Accumulator::Reduction::kSum);
  Tensor one(DType::kFloat, shape);
  std::iota(one.data<float>(), one.data<float>() + one.size(), 0.0f);
  for (int i = 0; i < 3; ++i) acc->apply(0, one, pool);
  Taken taken;
  acc->take(3, nullptr, note(taken));
  for (int64_t i : {int64_t{0}, int64_t{65'535}, int64_t{65'536}, int64_t{200'000}})
    EXPECT_EQ(taken.number(i), 3 * float(i));
}

TEST(Accumulator, TheMeanOfOneShownGradientIsACopy) {
  auto acc = make();
  Tensor only = gradient(1, 2, 3);
  acc->apply(0, shown(only), pool);
  Taken taken;
  acc->take(1, nullptr, note(taken));
  EXPECT_TRUE(taken.value.equals(only));
  EXPECT_NE(taken.value.raw(), only.raw());
}

TEST(Accumulator, HandsOutTheSumWhenAsked) {
  auto acc = make(Accumulator::Reduction::kSum);
  acc->apply(0, gradient(1, 2, 3), pool);
  acc->apply(0, gradient(1, 1, 1), pool);
  Taken taken;
  acc->take(1, nullptr, note(taken));
  EXPECT_EQ(taken.number(2), 4);
}

TEST(Accumulator, DropsGradientsOlderThanItsStep) {
  auto acc = make();
  acc->apply(0, gradient(1, 1, 1), pool);
  Taken taken;
  acc->take(1, nullptr, note(taken));  // the step is now 1
  acc->apply(0, gradient(9, 9, 9), pool);
  EXPECT_EQ(acc->accumulated(), 0);
  acc->apply(1, gradient(1, 1, 1), pool);
  acc->apply(7, gradient(1, 1, 1), pool);
  EXPECT_EQ(acc->accumulated(), 2);
}

TEST(Accumulator, TakesItsStepFromOutsideInBothDirections) {
  auto acc = make();
  acc->set_global_step(5);
  acc->apply(4, gradient(1, 1, 1), pool);
  EXPECT_EQ(acc->accumulated(), 0);
  acc->set_global_step(2);
  acc->apply(2, gradient(1, 1, 1), pool);
  EXPECT_EQ(acc->accumulated(), 1);
}

TEST(Accumulator, TakesWaitInTheirOrder) {
  auto acc = make();
  Taken first, second;
  acc->take(2, nullptr, note(first));
  acc->take(1, nullptr, note(second));
  acc->apply(0, gradient(1, 0, 0), pool);
  EXPECT_EQ(first.calls + second.calls, 0);  // the second waits for the first, though it needs less
  acc->apply(0, gradient(3, 0, 0), pool);
  EXPECT_EQ(first.number(), 2);
  EXPECT_EQ(second.calls, 0);
  acc->apply(1, gradient(5, 0, 0), pool);
  EXPECT_EQ(second.number(), 5);
}

TEST(Accumulator, AStepThatStalesTheWaitersGradientsKeepsThemWaiting) {
  auto acc = make();
  Taken taken;
  acc->take(1, nullptr, note(taken));
  acc->set_global_step(3);
  acc->apply(2, gradient(1, 1, 1), pool);
  EXPECT_EQ(taken.calls, 0);
}

TEST(Accumulator, CancelEndsATakeAndLetsTheNextOneOn) {
  auto acc = make();
  Cancellation cancellation;
  Taken cancelled, next, late;
  acc->take(5, &cancellation, note(cancelled));
  acc->take(1, nullptr, note(next));
  acc->apply(0, gradient(1, 1, 1), pool);
  cancellation.cancel();
  EXPECT_EQ(cancelled.error->code(), Code::kCancelled);
  EXPECT_EQ(next.calls, 1);
  EXPECT_FALSE(next.error);
  acc->take(1, &cancellation, note(late));
  EXPECT_EQ(late.error->code(), Code::kCancelled);
}

TEST(Accumulator, RefusesOtherShapesAndTypesAndEmptyTakes) {
  auto acc = make();
  EXPECT_THROW(acc->apply(0, Tensor::of<float>({2}, {1, 2}), pool), Error);
  EXPECT_THROW(acc->apply(0, Tensor::of<double>({3}, {1, 2, 3}), pool), Error);
  EXPECT_THROW(acc->take(0, nullptr, {}), Error);
  EXPECT_EQ(acc->accumulated(), 0);
}

TEST(Accumulator, AnUnknownShapeIsFixedByTheFirstGradient) {
  auto acc = std::make_shared<Accumulator>("any", DType::kFloat, Shape::unknown(),
                                           Accumulator::Reduction::kMean);
  acc->apply(0, gradient(1, 2, 3), pool);
  EXPECT_THROW(acc->apply(0, Tensor::of<float>({2}, {1, 2}), pool), Error);
}

TEST(Accumulator, KeepsNoHandOnWhatItGaveOut) {
  auto acc = make();
  acc->apply(0, gradient(1, 1, 1), pool);
  Taken first, second;
  acc->take(1, nullptr, note(first));
  acc->apply(1, gradient(2, 2, 2), pool);
  acc->take(1, nullptr, note(second));
  EXPECT_EQ(first.number(), 1);
  EXPECT_EQ(second.number(), 2);
  const void* bytes = first.value.raw();
  first.value = Tensor();
  acc->apply(2, gradient(3, 3, 3), pool);  // the buffer that came back is used again
  Taken third;
  acc->take(1, nullptr, note(third));
  EXPECT_EQ(third.value.raw(), bytes);
}

TEST(Accumulator, ManyThreadsLoseNoGradient) {
  auto acc = make(Accumulator::Reduction::kSum);
  std::atomic<int64_t> sum = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) acc->apply(1 << 30, gradient(1, 1, 1), pool);
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 400; ++i) {
        acc->take(10, nullptr,
                  [&](const Error*, Tensor value) { sum += int64_t(*value.data<float>()); });
      }
    });
  }
  EXPECT_EQ(sum + acc->accumulated(), 4000);
}

}  // namespace
}  // namespace capstan
