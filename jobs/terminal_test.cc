#include "jobs/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "jobs/report_table.h"

namespace capstan::jobs {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Screen {
  Screen() { EXPECT_EQ(pipe(fds), 0); }
  std::string text() {
    close(fds[1]);
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = read(fds[0], buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<size_t>(n));
    }
    close(fds[0]);
    return all;
  }
  int fds[2];
  PollLoop loop;
  OutputQueue output{loop};
};

TaskReport report_of(TaskId task) {
  TaskReport report;
  report.task = std::move(task);
  report.host = "127.0.0.1";
  report.port = 4000;
  return report;
}

TEST(Terminal, PrefixesEachLineWithItsTask) {
  Screen screen;
  Terminal terminal({.out = screen.fds[1], .err = screen.fds[1]}, screen.output);
  terminal.started(report_of({"worker", 1}));
  terminal.log({"worker", 1}, "hello");
  EXPECT_EQ(screen.text(), "[worker/1] hello\n");
}

TEST(Terminal, ColoursThePrefixOnlyWhenAsked) {
  Screen screen;
  Terminal terminal({.out = screen.fds[1], .err = screen.fds[1], .colour = true}, screen.output);
  terminal.started(report_of({"ps", 0}));
  terminal.log({"ps", 0}, "hello");
  EXPECT_EQ(screen.text(), "\x1b[36m[ps/0]\x1b[0m hello\n");
}

TEST(Terminal, SaysWhatIsKnownOfTheProgress) {
  Screen screen;
  Terminal terminal({}, screen.output);
  terminal.started(report_of({"worker", 0}));
  EXPECT_EQ(terminal.status(), "1 task");
  terminal.progress({"worker", 0}, {.step = 12, .loss = 0.5, .last_step = 100});
  EXPECT_EQ(terminal.status(), "step 12/100  loss 0.5  1 task");
}

TEST(Terminal, ShowsTheCauseAndTheTable) {
  Screen screen;
  Terminal terminal({.out = screen.fds[1], .err = screen.fds[1]}, screen.output);
  JobReport report;
  report.tasks = {report_of({"worker", 0})};
  report.cause = 0;
  report.reason = "worker/0 failed first, with exit code 3";
  report.last_lines = {"boom"};
  terminal.finish(report);
  std::string text = screen.text();
  EXPECT_THAT(text, HasSubstr("last lines of worker/0:\n  boom\n"));
  EXPECT_THAT(text, HasSubstr("127.0.0.1  4000  worker  0 "));
  EXPECT_THAT(text, HasSubstr("capstan: worker/0 failed first"));
}

TEST(Terminal, ShowsAStepBackAfterARestore) {
  Screen screen;
  Terminal terminal({}, screen.output);
  terminal.progress({"worker", 0}, {.step = 500, .last_step = 1000});
  terminal.progress({"worker", 1}, {.step = 380});
  terminal.progress({"worker", 0}, {.step = 400});
  EXPECT_EQ(terminal.status(), "step 400/1000  0 tasks");
}

TEST(ReportTable, ShowsADashForATaskOutsideTheCluster) {
  TaskReport evaluator = report_of({"evaluator", 0});
  evaluator.port = 0;
  EXPECT_THAT(report_table({.tasks = {evaluator}}), HasSubstr("-     -     evaluator"));
}

TEST(ReportTable, TheCauseIsRedAndWhatFollowedIsDim) {
  JobReport report{.cause = 1, .tasks = {report_of({"ps", 0}), report_of({"worker", 0})}};
  report.tasks[0].state = TaskState::kStopped;
  report.tasks[1].state = TaskState::kFailed;
  report.tasks[1].signal = 9;
  std::string table = report_table(report, /*colour=*/true);
  EXPECT_THAT(table, HasSubstr("\x1b[2m127.0.0.1"));
  EXPECT_THAT(table, HasSubstr("stopped\x1b[0m\n\x1b[1;31m127.0.0.1"));
  EXPECT_THAT(table, HasSubstr("cause: SIGKILL\x1b[0m\n"));
}

TEST(ReportTable, TellsHowOftenAndWhyTasksWereStartedAgain) {
  JobReport report{.tasks = {report_of({"ps", 0}), report_of({"worker", 0})}};
  EXPECT_THAT(report_table(report), Not(HasSubstr("attempts")));
  report.tasks[1].attempt = 3;
  report.tasks[1].attempts = {{.number = 1, .why = "SIGKILL"}, {.number = 2, .why = "exit code 1"}};
  EXPECT_THAT(report_table(report), HasSubstr("attempts  started again after"));
  EXPECT_THAT(report_table(report), HasSubstr("3         SIGKILL; exit code 1\n"));
}

TEST(HumanBytes, PicksTheUnit) {
  EXPECT_EQ(human_bytes(12), "12 B");
  EXPECT_EQ(human_bytes(45'100'000), "45.1 MB");
}

}  // namespace
}  // namespace capstan::jobs
