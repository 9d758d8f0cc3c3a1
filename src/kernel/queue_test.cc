#include "kernel/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

namespace capstan {
namespace {

// What became of one operation.
struct Outcome {
  bool finished = false;
  std::optional<Error> error;
  Tuple tuple;

  Code code() const { return error ? error->code() : Code::kOk; }
  int64_t number() const { return *tuple.at(0).data<int64_t>(); }
  std::vector<int64_t> numbers() const {
    const auto* data = tuple.at(0).data<int64_t>();
    return {data, data + tuple.at(0).size()};
  }
};

FifoQueue::Done note(Outcome& outcome) {
  return [&outcome](const Error* error) {
    EXPECT_FALSE(outcome.finished) << "a callback ran twice";
    outcome.finished = true;
    if (error) outcome.error = *error;
  };
}

FifoQueue::DoneTuple note_tuple(Outcome& outcome) {
  return [&outcome](const Error* error, Tuple tuple) {
    EXPECT_FALSE(outcome.finished) << "a callback ran twice";
    outcome.finished = true;
    if (error) outcome.error = *error;
    outcome.tuple = std::move(tuple);
  };
}

Tuple number(int64_t value) { return {Tensor::scalar(value)}; }

std::shared_ptr<FifoQueue> make_queue(int64_t capacity = -1) {
  return std::make_shared<FifoQueue>("tokens", capacity, std::vector{DType::kInt64},
                                     std::vector{Shape{}});
}

class Fifo : public testing::Test {
 protected:
  void put(int64_t value, Outcome& outcome) {
    queue->enqueue(number(value), &cancellation, note(outcome));
  }
  void put(int64_t value) {
    Outcome outcome;
    put(value, outcome);
    EXPECT_TRUE(outcome.finished && !outcome.error);
  }
  void take(Outcome& outcome) { queue->dequeue(&cancellation, note_tuple(outcome)); }
  int64_t take() {
    Outcome outcome;
    take(outcome);
    EXPECT_TRUE(outcome.finished && !outcome.error);
    return outcome.number();
  }

  std::shared_ptr<FifoQueue> queue = make_queue(2);
  Cancellation cancellation;
};

TEST_F(Fifo, HandsOutInTheOrderInWhichItTookIn) {
  put(1);
  put(2);
  EXPECT_EQ(take(), 1);
  put(3);
  EXPECT_EQ(take(), 2);
  EXPECT_EQ(take(), 3);
}

TEST_F(Fifo, AnEnqueueWaitsWhileTheQueueIsFull) {
  put(1);
  put(2);
  Outcome third;
  put(3, third);
  EXPECT_FALSE(third.finished);
  EXPECT_EQ(take(), 1);
  EXPECT_TRUE(third.finished);
  EXPECT_EQ(queue->size(), 2);
}

TEST_F(Fifo, WaitingDequeuesAreServedInTheirOrder) {
  Outcome first, second;
  take(first);
  take(second);
  put(7);
  EXPECT_TRUE(first.finished);
  EXPECT_FALSE(second.finished);
  put(8);
  EXPECT_EQ(first.number(), 7);
  EXPECT_EQ(second.number(), 8);
}

TEST_F(Fifo, ABatchLargerThanTheCapacityGoesInPieceByPiece) {
  Outcome in;
  queue->enqueue_many({Tensor::of<int64_t>({5}, {1, 2, 3, 4, 5})}, &cancellation, note(in));
  EXPECT_FALSE(in.finished);
  for (int64_t i = 1; i <= 5; ++i) EXPECT_EQ(take(), i);
  EXPECT_TRUE(in.finished);
}

TEST_F(Fifo, DequeueManyGathersMoreThanTheCapacity) {
  Outcome out;
  queue->dequeue_many(3, false, &cancellation, note_tuple(out));
  put(1);
  put(2);
  EXPECT_FALSE(out.finished);
  put(3);
  EXPECT_EQ(out.numbers(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(out.tuple[0].shape(), (Shape{3}));
}

TEST_F(Fifo, DequeueManyOfNothingIsAnEmptyBatch) {
  Outcome out;
  queue->dequeue_many(0, false, &cancellation, note_tuple(out));
  EXPECT_TRUE(out.finished);
  EXPECT_EQ(out.tuple.at(0).shape(), (Shape{0}));
}

TEST_F(Fifo, AClosedQueueRefusesEnqueuesAndHandsOutWhatItHas) {
  put(1);
  queue->close(false);
  EXPECT_TRUE(queue->closed());
  Outcome late, empty;
  put(2, late);
  EXPECT_EQ(late.code(), Code::kCancelled);
  EXPECT_EQ(late.error->message(), "FIFOQueue 'tokens' is closed.");
  EXPECT_EQ(take(), 1);
  take(empty);
  EXPECT_EQ(empty.code(), Code::kOutOfRange);
  EXPECT_EQ(
      empty.error->message(),
      "FIFOQueue 'tokens' is closed and has insufficient elements (requested 1, current size 0)");
}

TEST_F(Fifo, CloseFailsDequeuesThatWait) {
  Outcome waiting;
  take(waiting);
  queue->close(false);
  EXPECT_EQ(waiting.code(), Code::kOutOfRange);
}

TEST_F(Fifo, CloseLetsWaitingEnqueuesGoInFirst) {
  put(1);
  put(2);
  Outcome third, closing, late;
  put(3, third);
  queue->close(false, &cancellation, note(closing));
  EXPECT_FALSE(closing.finished);
  EXPECT_FALSE(queue->closed());
  put(4, late);
  EXPECT_EQ(take(), 1);
  EXPECT_TRUE(third.finished && !third.error);
  EXPECT_TRUE(closing.finished && !closing.error);
  EXPECT_EQ(late.code(), Code::kCancelled);
  EXPECT_EQ(take(), 2);
  EXPECT_EQ(take(), 3);
}

TEST_F(Fifo, CloseMayCancelWaitingEnqueues) {
  put(1);
  put(2);
  Outcome third;
  put(3, third);
  queue->close(true);
  EXPECT_EQ(third.code(), Code::kCancelled);
  EXPECT_EQ(queue->size(), 2);
}

TEST_F(Fifo, ClosingTwiceFails) {
  queue->close(false);
  Outcome again;
  queue->close(false, &cancellation, note(again));
  EXPECT_EQ(again.code(), Code::kCancelled);
  EXPECT_EQ(again.error->message(), "Queue 'tokens' is already closed.");
}

TEST_F(Fifo, AShortBatchFromAClosedQueueIsPutBack) {
  put(1);
  Outcome many;
  queue->dequeue_many(2, false, &cancellation, note_tuple(many));
  EXPECT_FALSE(many.finished);
  queue->close(false);
  EXPECT_EQ(many.code(), Code::kOutOfRange);
  EXPECT_EQ(take(), 1);
}

TEST_F(Fifo, DequeueUpToTakesTheRestOfAClosedQueue) {
  put(1);
  put(2);
  Outcome some, none;
  queue->dequeue_many(5, true, &cancellation, note_tuple(some));
  EXPECT_FALSE(some.finished);
  queue->close(false);
  EXPECT_EQ(some.numbers(), (std::vector<int64_t>{1, 2}));
  queue->dequeue_many(5, true, &cancellation, note_tuple(none));
  EXPECT_EQ(none.code(), Code::kOutOfRange);
}

TEST_F(Fifo, CancelEndsWhatWaitsAndLosesNothing) {
  put(1);
  Outcome many, late;
  queue->dequeue_many(2, false, &cancellation, note_tuple(many));
  cancellation.cancel();
  EXPECT_EQ(many.code(), Code::kCancelled);
  EXPECT_EQ(queue->size(), 1);
  EXPECT_EQ(take(), 1);  // what need not wait is served all the same
  take(late);
  EXPECT_EQ(late.code(), Code::kCancelled);
}

TEST_F(Fifo, CancelEndsAWaitingEnqueue) {
  put(1);
  put(2);
  Outcome third;
  put(3, third);
  cancellation.cancel();
  EXPECT_EQ(third.code(), Code::kCancelled);
  EXPECT_EQ(queue->size(), 2);
}

TEST_F(Fifo, ACancelledEnqueueMakesWayForTheNext) {
  put(1);
  Cancellation other;
  Outcome many, single;
  queue->enqueue_many({Tensor::of<int64_t>({2}, {2, 3})}, &cancellation, note(many));
  queue->close(false, &other, note(single));
  cancellation.cancel();
  EXPECT_EQ(many.code(), Code::kCancelled);
  EXPECT_TRUE(single.finished && !single.error);
  EXPECT_TRUE(queue->closed());
}

TEST_F(Fifo, RefusesTuplesOfOtherTypesAndShapes) {
  EXPECT_THROW(queue->enqueue({Tensor::scalar(1.0f)}, nullptr, {}), Error);
  EXPECT_THROW(queue->enqueue({Tensor::of<int64_t>({1}, {1})}, nullptr, {}), Error);
  EXPECT_THROW(queue->enqueue({}, nullptr, {}), Error);
  EXPECT_THROW(queue->enqueue_many({Tensor::scalar<int64_t>(1)}, nullptr, {}), Error);
}

TEST(FifoQueue, DequeueManyNeedsShapes) {
  auto queue =
      std::make_shared<FifoQueue>("any", -1, std::vector{DType::kInt64}, std::vector<Shape>{});
  EXPECT_THROW(queue->dequeue_many(2, false, nullptr, {}), Error);
}

TEST(FifoQueue, StringsSurviveBatches) {
  auto queue =
      std::make_shared<FifoQueue>("names", -1, std::vector{DType::kString}, std::vector{Shape{}});
  Outcome in, out;
  queue->enqueue_many({Tensor::of<std::string>({2}, {"a", "a string that is not short any more"})},
                      nullptr, note(in));
  queue->dequeue_many(2, false, nullptr, note_tuple(out));
  EXPECT_EQ(out.tuple.at(0).data<std::string>()[1], "a string that is not short any more");
}

TEST(FifoQueue, ManyThreadsLoseAndDoubleNothing) {
  auto queue = make_queue(3);
  constexpr int64_t kEach = 2000;
  std::atomic<int64_t> sum = 0, taken = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < kEach; ++i)
        queue->enqueue(number(t * kEach + i), nullptr, [](const Error*) {});
    });
    threads.emplace_back([&] {
      for (int64_t i = 0; i < kEach; ++i) {
        queue->dequeue(nullptr, [&](const Error*, Tuple tuple) {
          sum += *tuple.at(0).data<int64_t>();
          ++taken;
        });
      }
    });
  }
  threads.clear();
  EXPECT_EQ(taken, 3 * kEach);
  EXPECT_EQ(sum, 3 * kEach * (3 * kEach - 1) / 2);
}

TEST(FifoQueue, CancelAndServiceMayRace) {
  for (int round = 0; round < 300; ++round) {
    auto queue = make_queue();
    auto cancellation = std::make_shared<Cancellation>();
    std::atomic<int> calls = 0, got = 0;
    queue->dequeue(cancellation.get(), [&](const Error* error, Tuple) {
      ++calls;
      if (!error) ++got;
    });
    {
      std::jthread canceller([&] { cancellation->cancel(); });
      queue->enqueue(number(1), nullptr, [](const Error*) {});
    }
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(queue->size(), 1 - got);
  }
}

}  // namespace
}  // namespace capstan
