// A platform of one's own, as docs/extend.md tells: tasks are threads of this process.

#include <gtest/gtest.h>

#include <thread>

#include "jobs/fake_platform.h"
#include "jobs/job_controller.h"
#include "jobs/poll_loop.h"

namespace capstan::jobs {
namespace {

class ThreadPlatform : public Platform {
 public:
  using Program = std::function<int(const TaskSpec& spec, int attempt)>;  // returns the exit code
  ThreadPlatform(PollLoop& loop, Program program) : loop_(loop), program_(std::move(program)) {}

  void watch(PlatformWatcher* watcher) override { watcher_ = watcher; }

  void start(const TaskSpec& spec, int attempt) override {
    tasks_[spec.task] = {.task = spec.task, .attempt = attempt, .started_at = now()};
    threads_.emplace_back([this, spec, attempt] {
      const int code = program_(spec, attempt);
      loop_.post([this, task = spec.task, code] { end(task, code); });
    });
  }

  // A thread cannot be stopped from outside: the programs of this test end by themselves.
  void stop(const TaskId& task, StopHow) override { tasks_[task].asked_to_stop = true; }

  std::vector<TaskStatus> list() const override {
    std::vector<TaskStatus> all;
    for (const auto& [id, status] : tasks_) all.push_back(status);
    return all;
  }

  std::vector<std::string> last_lines(const TaskId&) const override { return {}; }
  void clean_up() override { threads_.clear(); }

 private:
  double now() const { return seconds_of(loop_.now()); }

  void end(const TaskId& id, int exit_code) {
    TaskStatus& status = tasks_[id];
    status.ended = true;
    status.ended_at = now();
    status.exit_code = exit_code;
    if (watcher_) watcher_->changed();
  }

  PollLoop& loop_;
  const Program program_;
  PlatformWatcher* watcher_ = nullptr;
  std::map<TaskId, TaskStatus> tasks_;
  std::vector<std::jthread> threads_;
};

JobReport run(const JobSpec& spec, ThreadPlatform::Program program) {
  PollLoop loop;
  Notes notes;
  ThreadPlatform platform(loop, std::move(program));
  JobController controller(spec, {{"worker", {"here:1", "here:2"}}}, platform, loop, notes);
  controller.start();
  loop.run_until([&] { return controller.done(); });
  return controller.report();
}

TEST(OwnPlatform, RunsAJobToItsEnd) {
  const JobSpec spec{.groups = {{"ps", 1}, {"worker", 2}}, .program = {.path = "p"}};
  EXPECT_EQ(run(spec, [](const TaskSpec&, int) { return 0; }).exit_code, 0);
}

TEST(OwnPlatform, HasSeveralJobsInOneProcess) {
  PollLoop loop;
  const JobSpec spec{.groups = {{"worker", 2}}, .program = {.path = "p"}};
  struct Job {
    Job(PollLoop& loop, const JobSpec& spec, int code)
        : platform(loop, [code](const TaskSpec&, int) { return code; }),
          controller(spec, {}, platform, loop, notes) {}
    Notes notes;
    ThreadPlatform platform;
    JobController controller;
  };
  std::vector<std::unique_ptr<Job>> jobs;
  for (int code : {0, 7, 0, 9}) jobs.push_back(std::make_unique<Job>(loop, spec, code));
  for (auto& job : jobs) job->controller.start();
  loop.run_until([&] {
    return std::ranges::all_of(jobs, [](const auto& job) { return job->controller.done(); });
  });
  std::vector<int> codes;
  for (auto& job : jobs) codes.push_back(job->controller.report().exit_code);
  EXPECT_EQ(codes, (std::vector<int>{0, 7, 0, 9}));
}

TEST(OwnPlatform, HasTheControllersRulesForNothing) {
  JobSpec spec{.groups = {{"worker", 2}}, .program = {.path = "p"}};
  auto fails_once = [](const TaskSpec& task, int attempt) {
    return task.task.index == 1 && attempt == 1 ? 3 : 0;
  };
  JobReport report = run(spec, fails_once);
  EXPECT_EQ(report.exit_code, 3);
  EXPECT_EQ(report.reason, "worker/1 failed first, with exit code 3");
  spec.restarts = 1;
  report = run(spec, fails_once);
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_EQ(report.tasks[1].attempt, 2);
}

}  // namespace
}  // namespace capstan::jobs
