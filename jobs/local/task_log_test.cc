#include "jobs/local/task_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::jobs {
namespace {

using testing::ElementsAre;

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
