#include "jobs/poll_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace capstan::jobs {
namespace {

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    reading = Fd(fds[0]);
    writing = Fd(fds[1]);
    EXPECT_EQ(write(writing.get(), "x", 1), 1);
  }
  Fd reading, writing;
};

TEST(PollLoop, RunsTimersInTheirOrderAndNotThoseThatWereCancelled) {
  PollLoop loop;
  std::string order;
  const Deadline now = loop.now();
  loop.at(now + std::chrono::milliseconds(2), [&] { order += "b"; });
  loop.at(now, [&] { order += "a"; });
  loop.cancel(loop.at(now, [&] { order += "never"; }));
  loop.at(now + std::chrono::milliseconds(3), [&] { order += "c"; });
  loop.run_until([&] { return order.size() == 3; });
  EXPECT_EQ(order, "abc");
}

TEST(PollLoop, WakesForWhatAnotherThreadPosts) {
  PollLoop loop;
  bool ran = false;
  std::thread other([&] { loop.post([&] { ran = loop.on_loop_thread(); }); });
  loop.run_until([&] { return ran; });
  other.join();
}

TEST(PollLoop, ForgetsAWatchThatEndsInTheSameRound) {
  PollLoop loop;
  Pipe a, b;
  int calls = 0;
  auto end_both = [&] {
    ++calls;
    loop.unwatch(a.reading.get());
    loop.unwatch(b.reading.get());
  };
  loop.watch(a.reading.get(), end_both);
  loop.watch(b.reading.get(), end_both);
  bool later = false;
  loop.at(loop.now() + std::chrono::milliseconds(5), [&] { later = true; });
  loop.run_until([&] { return later; });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace capstan::jobs
