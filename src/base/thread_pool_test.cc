#include "base/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "base/error.h"

namespace capstan {
namespace {

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

TEST(ThreadPool, RunsEachPieceOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int64_t pieces : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> count(static_cast<size_t>(pieces));
      pool.parallel_for(pieces, [&](int64_t i) { ++count[static_cast<size_t>(i)]; });
      for (auto& c : count) EXPECT_EQ(c.load(), 1);
    }
  }
}

TEST(ThreadPool, OfOneThreadIsAPlainLoopInOrder) {
  ThreadPool pool(1);
  std::vector<int64_t> order;
  pool.parallel_for(4, [&](int64_t i) { order.push_back(i); });
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3));
}

TEST(ThreadPool, SurvivesManyShortLoops) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 2000; ++i) pool.parallel_for(4, [&](int64_t piece) { sum += piece; });
  EXPECT_EQ(sum.load(), 2000 * 6);
}

TEST(ThreadPool, EndsRightAfterALoop) {
  for (int i = 0; i < 500; ++i) ThreadPool(3).parallel_for(4, [](int64_t) {});
}

TEST(ThreadPool, CarriesTheExceptionOfAPieceToTheCaller) {
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    const auto fail = [](int64_t i) {
      if (i == 5) throw std::runtime_error("piece 5");
    };
    EXPECT_THROW(pool.parallel_for(8, fail), std::runtime_error);
    std::atomic<int> count{0};
    pool.parallel_for(8, [&](int64_t) { ++count; });
    EXPECT_EQ(count.load(), 8) << "the pool works on after it";
  }
}

TEST(ThreadPool, RunsALoopInsideAPiece) {
  ThreadPool pool(3);
  std::atomic<int> count{0};
  pool.parallel_for(6, [&](int64_t) { pool.parallel_for(7, [&](int64_t) { ++count; }); });
  EXPECT_EQ(count.load(), 42);
}

TEST(ThreadPool, ServesTwoCallersAtOnce) {
  ThreadPool pool(2);
  std::atomic<int> count{0};
  const auto loops = [&] {
    for (int i = 0; i < 300; ++i) pool.parallel_for(5, [&](int64_t) { ++count; });
  };
  std::thread other(loops);
  loops();
  other.join();
  EXPECT_EQ(count.load(), 3000);
}

TEST(ThreadPool, SharesLoopsAfterARest) {
  ThreadPool pool(2);
  for (int i = 0; i < 300; ++i) {
    std::latch both(2);  // done only when the helper has come
    pool.parallel_for(2, [&](int64_t) { both.arrive_and_wait(); });
    pool.rest();
  }
}

TEST(ThreadPool, UsesNoCpuWhenIdle) {
  ThreadPool pool(4);
  pool.parallel_for(8, [](int64_t) {});
  const double before = cpu_seconds();
  // Not a wait for something: the time over which the use of the CPU is measured.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(cpu_seconds() - before, 0.02);
}

TEST(KernelThreads, AreAllCoresAloneTwiceThePartAmongManyAndNeverNone) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  EXPECT_EQ(kernel_threads(0), cores);
  EXPECT_EQ(kernel_threads(1), cores);
  EXPECT_EQ(kernel_threads(2), cores);
  EXPECT_EQ(kernel_threads(cores), std::min(2, cores));
  EXPECT_EQ(kernel_threads(100 * cores), 1);
}

TEST(ThreadPool, RefusesLessThanOneThread) { EXPECT_THROW(ThreadPool(0), Error); }

}  // namespace
}  // namespace capstan
