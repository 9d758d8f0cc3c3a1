#include "net/epoll_loop.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace capstan {
namespace {

TEST(EpollLoop, RunsPostedTasksInOrderOnItsThread) {
  EpollLoop loop;
  std::vector<int> seen;
  bool on_thread = true;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      loop.post([&, i] {
        seen.push_back(i);
        on_thread &= loop.on_loop_thread();
      });
    }
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  other.join();
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[size_t(i)], i);
  EXPECT_TRUE(on_thread);
}

TEST(EpollLoop, FiresTimersInTheOrderOfTheirTimesAndNotTheCancelledOnes) {
  EpollLoop loop;
  std::vector<int> seen;
  Deadline now = loop.now();
  loop.at(now + std::chrono::milliseconds(3), [&] { loop.stop(); });
  loop.at(now + std::chrono::milliseconds(2), [&] { seen.push_back(2); });
  loop.at(now + std::chrono::milliseconds(1), [&] { seen.push_back(1); });
  loop.cancel(loop.at(now, [&] { seen.push_back(0); }));
  loop.run();
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
}

TEST(EpollLoop, IsWokenFromASleepByAPost) {
  EpollLoop loop;
  std::thread thread([&] { loop.run(); });
  // Each waits for the one before, so that the loop sleeps in between at least now and then.
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> done{false};
    loop.post([&] { done.store(true); });
    while (!done.load()) std::this_thread::yield();
  }
  loop.stop();
  thread.join();
}

}  // namespace
}  // namespace capstan
