// Ten thousand jobs in which anything happens in any order, to tasks and to the controller itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "jobs/fake_platform.h"
#include "jobs/job_controller.h"

namespace capstan::jobs {
namespace {

constexpr int kJobs = 10'000;
constexpr int kEvents = 40;
constexpr int kRoundsToEnd = 60;

// What a controller sees of a platform in another process: what it asks for is in its list at once,
// comes to be later, and may be lost with it.
class Link final : public Platform {
 public:
  explicit Link(FakePlatform& platform) : platform_(platform) {}

  void watch(PlatformWatcher* watcher) override {
    watcher_ = watcher;
    platform_.watch(watcher);
  }
  void start(const TaskSpec& spec, int attempt) override {
    asked_[spec.task] = {.task = spec.task, .attempt = attempt};
    requests_.push_back([this, spec, attempt] { platform_.start(spec, attempt); });
  }
  void stop(const TaskId& task, StopHow how) override {
    if (auto found = asked_.find(task); found != asked_.end()) found->second.asked_to_stop = true;
    requests_.push_back([this, task, how] { platform_.stop(task, how); });
  }
  std::vector<TaskStatus> list() const override {
    std::map<TaskId, TaskStatus> all = platform_.tasks;
    for (const auto& [task, status] : asked_) {
      TaskStatus& seen = all[task];
      if (seen.attempt < status.attempt) seen = status;
      if (seen.attempt == status.attempt) seen.asked_to_stop |= status.asked_to_stop;
    }
    std::vector<TaskStatus> list;
    for (const auto& [task, status] : all) list.push_back(status);
    return list;
  }
  std::vector<std::string> last_lines(const TaskId&) const override { return {}; }
  void clean_up() override { platform_.clean_up(); }

  void deliver() {
    std::vector<std::function<void()>> requests;
    requests.swap(requests_);
    for (auto& request : requests) request();
    for (const auto& [task, status] : platform_.tasks) {
      auto found = asked_.find(task);
      if (found != asked_.end() && found->second.attempt <= status.attempt) asked_.erase(found);
    }
    if (!requests.empty()) watcher_->changed();
  }

 private:
  FakePlatform& platform_;
  PlatformWatcher* watcher_ = nullptr;
  std::map<TaskId, TaskStatus> asked_;
  std::vector<std::function<void()>> requests_;
};

class RandomJob {
 public:
  RandomJob(unsigned seed, bool counted) : random_(seed), platform_(loop_) {
    spec_.program.path = "program";
    if (int n = below(3)) spec_.groups.push_back({"ps", n});
    if (below(2)) spec_.groups.push_back({"chief", 1});
    spec_.groups.push_back({"worker", 1 + below(3)});
    if (below(4) == 0) spec_.groups.push_back({"evaluator", 1});
    spec_.restarts = below(5);
    spec_.restart = RestartPolicy(below(3));
    spec_.success = SuccessRule(below(2));
    if (below(3) == 0) spec_.timeout_seconds = 1 + below(40);
    if (counted) count_ends();
    tasks_ = tasks_of(spec_);
    platform_.obedient = below(2) == 0;
    begin({});
  }

  void run() {
    for (int i = 0; i < kEvents; ++i) {
      happen();
      loop_.run_posted();
      if (below(3) > 0) deliver();
      look_for_a_second_run();
      loop_.advance(below(4) == 0 ? below(100) / 10.0 : below(100) / 1000.0);
    }
    for (int i = 0; i < kRoundsToEnd && !controller_->done(); ++i) {
      platform_.start_error.reset();
      if (spec_.restart == RestartPolicy::kAlways) controller_->stop("it would go on for ever", 1);
      deliver();
      for (const TaskId& task : tasks_) {
        if (role_of(task.job) != Role::kServer) platform_.end(task, 0);
      }
      loop_.advance(5);
    }
  }

  void check() const {
    ASSERT_FALSE(platform_.doubled);
    ASSERT_TRUE(controller_->done());
    EXPECT_GE(platform_.cleaned, 1);
    EXPECT_EQ(started_again_, "");
    if (spec_.at_end == AtEnd::kStop) {
      for (const TaskId& task : tasks_) EXPECT_FALSE(platform_.runs(task)) << task.name();
      for (const TaskReport& task : controller_->state().tasks) EXPECT_TRUE(task.done());
    }
    const JobReport report = controller_->report();
    const auto& stop = controller_->state().stop;
    if (counts_ends(spec_.success)) {
      EXPECT_EQ(report.exit_code == 0, !stop);
      EXPECT_TRUE(stop || controller_->state().trained > 0);
      return;
    }
    EXPECT_LE(controller_->state().restarts, spec_.restarts);
    if (stop && stop->exit_code == 0) {
      ASSERT_TRUE(report.cause);
      EXPECT_EQ(report.tasks[*report.cause].failed_at, first_failure());
    }
  }

 private:
  void count_ends() {
    spec_.success = SuccessRule(2 + below(3));
    spec_.share = 1 + below(100);
    spec_.restart = RestartPolicy(below(2) ? 0 : 3 + below(3));
    spec_.incident = 0;
    spec_.replace_lost = true;
    spec_.restart_together = below(3) == 0;
    if (below(3) == 0) spec_.least_workers = below(3);
    spec_.at_end = AtEnd(below(2));
    spec_.wait_for_evaluator = below(2) == 0;
    if (below(3) == 0) spec_.restarts = kNoLimit;
  }

  // One that was known to have ended well.
  void look_for_a_second_run() {
    for (const TaskReport& task : controller_->state().tasks) {
      const bool good = task.success() && task.exit_code == 0;
      if (good && platform_.attempt_or_0(task.task) > task.attempt)
        started_again_ = task.task.name();
    }
  }

  int below(int limit) { return int(random_() % unsigned(limit)); }

  void deliver() {
    link_->deliver();
    loop_.run_posted();
  }

  void begin(JobState state) {
    controller_.reset();
    link_ = std::make_unique<Link>(platform_);
    controller_ =
        std::make_unique<JobController>(spec_, Cluster(), *link_, loop_, notes_, std::move(state));
    controller_->on_change([this] {
      saved_.push_back(controller_->state());
      if (saved_.size() > 2) saved_.erase(saved_.begin());
    });
    controller_->start();
  }

  // Killed at any moment, perhaps after it acted and before it could save that.
  void replace_controller() {
    if (controller_->done()) return;
    if (below(3) == 0 && saved_.size() > 1) saved_.pop_back();
    if (below(3) > 0) link_->deliver();
    begin(saved_.back());
  }

  void happen() {
    const TaskId& task = tasks_[size_t(below(int(tasks_.size())))];
    constexpr const char* kCodes[] = {"Unavailable", "Aborted", "Internal", "InvalidArgument"};
    switch (below(16)) {
      case 0: return platform_.end(task, 0);
      case 1: return platform_.end(task, 1 + below(5));
      case 2: return platform_.end(task, 137, 9);
      case 3:
      case 4: return platform_.error(task, kCodes[below(4)]);
      case 5: return platform_.tell(task, [](TaskTold& told) { told.serves = true; });
      case 6:
        return platform_.tell(task, [](TaskTold& told) { told.serves = told.trained = true; });
      case 7: return platform_.tell(task, [](TaskTold& told) { told.waits_for = "chief"; });
      case 8: return platform_.step(task, below(100));
      case 9: return below(8) == 0 ? controller_->stop("asked", 143) : void();
      case 10: return below(8) == 0 ? controller_->interrupt("Ctrl-C", 130) : void();
      case 11: return below(4) == 0 && platform_.runs(task) ? platform_.forget(task) : void();
      case 12: return refuse_to_start();
      case 13:
        if (counts_ends(spec_.success)) return platform_.restart_in_place(task, below(2));
        return platform_.step_unheard(task, below(100));
      default: return replace_controller();
    }
  }

  void refuse_to_start() {
    platform_.start_error.reset();
    if (below(4) == 0) platform_.start_error = not_found("no such program");
    if (below(4) == 0) platform_.start_error = resource_exhausted("no room");
  }

  // As the platform saw it, among the last attempts of all tasks.
  double first_failure() const {
    double first = std::numeric_limits<double>::infinity();
    for (const TaskReport& task : controller_->state().tasks) {
      // It would have come back, but the training was over before.
      if (task.state == TaskState::kStopped) continue;
      auto found = platform_.tasks.find(task.task);
      if (found == platform_.tasks.end()) {  // lost: only the controller knows when
        if (task.failed_at > 0) first = std::min(first, task.failed_at);
        continue;
      }
      const TaskStatus& status = found->second;
      if (status.asked_to_stop || status.exit_code == 0) continue;
      double time = status.ended_at;
      if (const auto& error = status.told.error) {
        const bool peer = error->code == "Unavailable" || error->code == "Aborted";
        time = *error->time + (peer ? 1 : 0);
      }
      first = std::min(first, time);
    }
    return first;
  }

  std::mt19937 random_;
  FakeLoop loop_;
  FakePlatform platform_;
  Notes notes_;
  JobSpec spec_;
  std::vector<TaskId> tasks_;
  std::vector<JobState> saved_;
  std::string started_again_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<JobController> controller_;
};

class JobOrders : public testing::Test {
 protected:
  static void play(bool counted) {
    for (unsigned seed = 0; seed < kJobs && !HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      RandomJob job(seed, counted);
      job.run();
      job.check();
    }
  }
};

TEST_F(JobOrders, NeverRunATaskTwiceAlwaysEndAndNameTheFirstFailure) { play(false); }

TEST_F(JobOrders, WhereEndsCountAreSucceededOrStoppedAndNeverRunAgainWhatEndedWell) { play(true); }

}  // namespace
}  // namespace capstan::jobs
