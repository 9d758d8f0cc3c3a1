#include "jobs/job_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/text_table.h"

namespace capstan::jobs {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

int64_t no_memory(int) { return 0; }

ShelvedJob running_job() {
  JobRecord record{.id = "aa11", .name = "mnist", .command = {"train.py", "a b"}};
  record.created = 1000;
  record.state.started = 50;
  record.state.tasks = {{.task = {"worker", 0}, .state = TaskState::kRunning}};
  record.state.tasks[0].progress = {.step = 12, .loss = 0.25, .last_step = 100};
  record.steps_per_second = 3;
  return {.id = "aa11", .record = record, .alive = true};
}

TEST(TextTable, AlignsColumnsByCharacters) {
  EXPECT_THAT(text_table({{"ä", "b"}, {"ccc", "d"}}), ElementsAre("ä    b", "ccc  d"));
}

TEST(TextTable, CutsLinesAndLeavesNoBlanksAtTheirEnds) {
  EXPECT_THAT(text_table({{"aaaa", ""}, {"b", "ääää"}}, 8), ElementsAre("aaaa", "b     ää"));
}

TEST(JobsTable, FitsTheTerminal) {
  ShelvedJob job = running_job();
  job.record->state.ended = 60;
  job.record->reason = std::string(300, 'x');
  for (size_t columns : {20, 40, 80}) {
    std::string line;
    std::istringstream lines(jobs_table({job}, 1010, columns));
    while (std::getline(lines, line)) EXPECT_LE(width_of(line), columns);
  }
}

TEST(JobsTable, ShowsControlCharactersInsteadOfObeyingThem) {
  ShelvedJob job = running_job();
  job.record->name = "\x1b[2Jname\nnext";
  EXPECT_THAT(jobs_table({job}, 1010, 0), HasSubstr("\\x1b[2Jname  running"));
  EXPECT_THAT(status_text(job, 1010, 80, no_memory), Not(HasSubstr("\x1b")));
}

TEST(Status, TellsHowFarTheJobIs) {
  const std::string text = status_text(running_job(), 1010, 100, no_memory);
  EXPECT_THAT(text, HasSubstr("running for 10 s, step 12/100, loss 0.25, 3.0 steps/s"));
  EXPECT_THAT(text, HasSubstr("command  train.py a b"));
}

TEST(Status, ShowsTheSpeedOfEachTask) {
  ShelvedJob job = running_job();
  job.record->state.tasks[0].steps_per_second = 2.5;
  EXPECT_THAT(status_text(job, 1010, 100, no_memory), HasSubstr("0.25  2.5      -"));
}

TEST(Status, AsksForTheMemoryOfProcessesThatAreStillTheJobs) {
  ShelvedJob job = running_job();
  job.record->state.tasks[0].pid = 7;
  std::vector<int> asked;
  auto memory = [&](int pid) {
    asked.push_back(pid);
    return int64_t{5'000'000};
  };
  EXPECT_THAT(status_text(job, 1010, 100, memory), HasSubstr("5.0 MB"));
  EXPECT_THAT(asked, ElementsAre(7));
  job.elsewhere = true;
  EXPECT_THAT(status_text(job, 1010, 100, memory), Not(HasSubstr("MB")));
  job.elsewhere = job.alive = false;
  EXPECT_THAT(status_text(job, 1010, 100, memory), Not(HasSubstr("MB")));
  EXPECT_EQ(asked.size(), 1u);
}

TEST(Status, CallsNoTaskOfALostJobRunning) {
  ShelvedJob job = running_job();
  job.record->state.tasks.push_back({.task = {"worker", 1}, .state = TaskState::kSucceeded});
  job.alive = false;
  const std::string text = status_text(job, 1010, 100, no_memory);
  EXPECT_THAT(text, Not(HasSubstr("running")));
  EXPECT_THAT(text, AllOf(ContainsRegex("worker/0 +- +lost"), ContainsRegex("worker/1 +- +ok")));
}

TEST(Status, InAPipeIsNotCut) {
  ShelvedJob job = running_job();
  job.record->command = {std::string(500, 'x')};
  job.record->curve = {{0, 1, 4.0}, {1, 2, 2.0}};
  const std::string text = status_text(job, 1010, 0, no_memory);
  EXPECT_THAT(text, HasSubstr(std::string(500, 'x')));
  EXPECT_THAT(text, HasSubstr("*"));
}

TEST(Status, TellsWhyATaskWasStartedAgain) {
  ShelvedJob job = running_job();
  job.record->state.tasks[0].attempt = 2;
  job.record->state.tasks[0].attempts = {{.number = 1, .why = "SIGKILL"}};
  EXPECT_THAT(status_text(job, 1010, 100, no_memory), HasSubstr("after SIGKILL"));
}

TEST(LossCurve, GoesFromTheHighestToTheLowest) {
  const std::string curve =
      loss_curve({{0, 1, 4.0}, {1, 2, 2.0}, {2, 3, 1.0}, {3, 4, std::nullopt}}, 30, 4);
  EXPECT_EQ(curve,
            "       4 |*                   \n"
            "         |                    \n"
            "         |          *         \n"
            "       1 |                   *\n"
            "         +--------------------\n"
            "    loss  1             step 3\n");
}

TEST(LossCurve, IsEmptyWhereThereIsNothingToSee) {
  EXPECT_EQ(loss_curve({}, 80, 8), "");
  EXPECT_EQ(loss_curve({{0, 1, 4.0}}, 80, 8), "");
  EXPECT_EQ(loss_curve({{0, 1, 4.0}, {1, 2, 3.0}}, 5, 8), "");
  EXPECT_EQ(loss_curve({{0, 1, INFINITY}, {1, 2, NAN}}, 80, 8), "");
}

TEST(LossCurve, OfAConstantIsALine) {
  EXPECT_THAT(loss_curve({{0, 1, 4.0}, {1, 2, 4.0}}, 30, 2), HasSubstr("       4 |*"));
}

}  // namespace
}  // namespace capstan::jobs
