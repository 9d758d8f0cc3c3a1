#include "session/step_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace capstan {
namespace {

// Counts the threads that have ended, as a library with data per thread sees them end.
struct Mourner {
  std::atomic<int>* ended = nullptr;
  ~Mourner() {
    if (ended) ++*ended;
  }
};

thread_local Mourner mourner;

TEST(StepThreads, RunsTasksThatWaitForEachOther) {
  StepThreads threads;
  constexpr int kTasks = 8;
  std::latch together(kTasks);
  for (int i = 0; i < kTasks; ++i) threads.post([&] { together.arrive_and_wait(); });
  threads.finish();
  EXPECT_TRUE(together.try_wait());
}

TEST(StepThreads, AreGoneWhenFinished) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> started = 0, ended = 0;
    StepThreads threads;
    std::latch together(4);
    for (int i = 0; i < 4; ++i) {
      threads.post([&] {
        mourner.ended = &ended;
        ++started;
        together.arrive_and_wait();
      });
    }
    threads.finish();
    EXPECT_EQ(started, 4);
    EXPECT_EQ(ended, 4) << "round " << round;
  }
}

}  // namespace
}  // namespace capstan
