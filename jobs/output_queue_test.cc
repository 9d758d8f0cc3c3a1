#include "jobs/output_queue.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/fd.h"

namespace capstan::jobs {
namespace {

class Output : public testing::Test {
 protected:
  Output() {
    signal(SIGPIPE, SIG_IGN);
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    reader_ = Fd(fds[0]);
    writer_ = Fd(fds[1]);
  }
  void read_some() {
    char buffer[64 * 1024];
    const ssize_t n = read(reader_.get(), buffer, sizeof buffer);
    if (n > 0) got_.append(buffer, size_t(n));
  }

  Fd reader_, writer_;
  std::string got_;
  PollLoop loop_;
  OutputQueue output_{loop_};
};

TEST_F(Output, NeverWaitsForAReaderAndLosesNothing) {
  std::vector<bool> told;
  output_.on_full([&](bool full) { told.push_back(full); });
  std::string all;
  for (int i = 0; !output_.full(); ++i) {
    all += fmt::format("line {}\n", i);
    output_.write(writer_.get(), fmt::format("line {}\n", i));
  }
  EXPECT_GT(all.size(), 1'000'000u);
  loop_.run_until([&] {
    read_some();
    return got_.size() == all.size();
  });
  EXPECT_EQ(got_, all);
  EXPECT_EQ(told, (std::vector<bool>{true, false}));
}

TEST_F(Output, SaysOnceThatNobodyReadsAnyMore) {
  int gone = 0;
  output_.on_gone([&] { ++gone; });
  reader_.reset();
  output_.write(writer_.get(), "a");
  output_.write(writer_.get(), "b");
  EXPECT_EQ(gone, 1);
}

TEST_F(Output, GivesUpWhenItsPatienceOrItsUserHasEnded) {
  const std::string much(200'000, 'x');
  output_.write(writer_.get(), much);
  output_.flush(-1, std::chrono::milliseconds(1));
  output_.write(writer_.get(), much);
  int other[2];
  ASSERT_EQ(pipe(other), 0);
  const Fd reading(other[0]), writing(other[1]);
  ASSERT_EQ(write(other[1], "!", 1), 1);
  output_.flush(reading.get(), std::nullopt);
  EXPECT_FALSE(output_.full());
}

TEST_F(Output, ToNowhereIsDropped) {
  output_.write(-1, "text");
  output_.flush(-1, std::nullopt);
  EXPECT_FALSE(output_.full());
}

}  // namespace
}  // namespace capstan::jobs
