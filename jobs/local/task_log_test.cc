#include "jobs/local/task_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/temporary_folder.h"
#include "jobs/local/log_reader.h"

namespace capstan::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void ignore(std::string_view) {}

// Files of this process take no more than so many bytes, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit full{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

std::vector<std::string> lines_of(std::vector<std::string> chunks) {
  std::vector<std::string> lines;
  TaskLog log("", [&](std::string_view line) { lines.emplace_back(line); });
  for (const std::string& chunk : chunks) log.feed(chunk);
  log.finish();
  return lines;
}

TEST(TaskLog, JoinsChunksIntoLines) {
  EXPECT_THAT(lines_of({"a", "b\nc\n\nd"}), ElementsAre("ab", "c", "", "d"));
}

TEST(TaskLog, ShowsTheLastStateOfAProgressBar) {
  EXPECT_THAT(lines_of({"1%\r50%\r100%\r\n"}), ElementsAre("100%"));
}

TEST(TaskLog, CutsALineThatNeverEnds) {
  EXPECT_EQ(lines_of({std::string(70'000, 'x'), "y\n"}).size(), 2u);
}

TEST(TaskLog, KeepsTheLastFiftyLines) {
  TaskLog log("", [](std::string_view) {});
  for (int i = 0; i < 120; ++i) log.feed(std::to_string(i) + "\n");
  EXPECT_EQ(log.last_lines().size(), 50u);
  EXPECT_EQ(log.last_lines().front(), "70");
}

TEST(TaskLog, KeepsAtMostTwiceItsLargestSizeAndIsReadInOrder) {
  const TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  std::vector<std::string> lines;
  LogReader::Sink sink = [&](std::string_view line) { lines.emplace_back(line); };
  LogReader follower(folder, {{"ps", 0}}, [](const TaskId&) { return ""; });
  TaskLog log(
      folder + "/ps-0.log", [](std::string_view) {}, 1000);
  for (int i = 0; i < 1000; ++i) {
    log.feed(fmt::format("line {:04}\n", i));
    if (i % 10 == 0) follower.read(sink);
  }
  follower.read(sink);
  EXPECT_EQ(lines.size(), 1000u);
  EXPECT_EQ(lines.back(), "line 0999");
  lines.clear();
  LogReader(folder, {{"ps", 0}}, [](const TaskId&) { return ""; }).read(sink);
  EXPECT_GE(lines.size(), 100u);
  EXPECT_LE(lines.size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(lines));
  EXPECT_EQ(lines.back(), "line 0999");
}

TEST(TaskLog, SaysWhatAFullDiskCostAndGoesOnWhenThereIsRoom) {
  const TemporaryFolder folder;
  const std::string path = folder.file("ps-0.log");
  TaskLog log(path, ignore);
  log.feed("before\n");
  {
    FullDisk full(10);
    log.feed("half a line\n");
    log.feed("nothing of this\n");
  }
  log.feed("after\n");
  const std::string text = posix_files().read(path);
  EXPECT_THAT(text, HasSubstr("before\nhal\n[capstan: 25 bytes were lost here: "));
  EXPECT_TRUE(text.ends_with("]\nafter\n"));
}

TEST(TaskLog, EndsTheLastLineOfAnAttemptInTheFile) {
  const TemporaryFolder folder;
  TaskLog log(folder.file("ps-0.log"), ignore);
  log.feed("first\nthe end of one");
  log.finish();
  log.feed("the next\n");
  log.finish();
  EXPECT_EQ(posix_files().read(folder.file("ps-0.log")), "first\nthe end of one\nthe next\n");
}

TEST(TaskLog, ForgetsTheOlderPartOfAnEarlierJob) {
  const TemporaryFolder folder;
  folder.put("ps-0.log.1", "of another job\n");
  TaskLog log(folder.file("ps-0.log"), ignore);
  EXPECT_FALSE(posix_files().exists(folder.file("ps-0.log.1")));
}

TEST(LogReader, ShowsALineThatNeverEndedWhenNothingMoreComes) {
  const TemporaryFolder folder;
  folder.put("ps-0.log", "whole\nkilled in the mid");
  std::vector<std::string> lines;
  LogReader::Sink sink = [&](std::string_view line) { lines.emplace_back(line); };
  LogReader reader(folder.path(), {{"ps", 0}},
                   [](const TaskId& task) { return "[" + task.name() + "] "; });
  reader.read(sink);
  EXPECT_THAT(lines, ElementsAre("[ps/0] whole"));
  reader.finish(sink);
  EXPECT_THAT(lines, ElementsAre("[ps/0] whole", "[ps/0] killed in the mid"));
}

TEST(PrintedProgress, ReadsStepAndLossAsProgramsPrintThem) {
  PrintedProgress p = printed_progress("step: 2000, weight: 1.9, biase: 10.1, loss: 0.25");
  EXPECT_EQ(p.step, 2000);
  EXPECT_EQ(p.loss, 0.25);
  p = printed_progress("Step: 300,  Epoch:  1,  Batch:  10 of 550,  Cost: 2.3e-1,  AvgTime: 3ms");
  EXPECT_EQ(p.step, 300);
  EXPECT_EQ(p.loss, 0.23);
  EXPECT_EQ(printed_progress("global_step=7 worker").step, 7);
  EXPECT_EQ(printed_progress("worker:0 step 100 loss 0.5").step, 100);
}

TEST(PrintedProgress, IsNotFooledByLikeWords) {
  EXPECT_EQ(printed_progress("global_step/sec: 812.3").step, std::nullopt);
  EXPECT_EQ(printed_progress("steps 5, footstep 6, step one").step, std::nullopt);
  EXPECT_EQ(printed_progress("lossless 3").loss, std::nullopt);
}

}  // namespace
}  // namespace capstan::jobs
