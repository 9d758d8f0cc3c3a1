#pragma once

// What a job is: which failure is the cause, what is started again, who is stopped when and in
// which order, and what counts as success. It only decides: tasks run on a Platform, time is the
// Loop's.
//
// Every decision follows from the state that is seen (Platform::list) and remembered (JobState),
// not from the events that led there. A new controller over the same two goes on where another one
// died, even if what it remembers is older than what it sees.
//
// reconcile() is the whole of it. What it sees is in job_controller_look.cc, the rules are in
// job_controller_rules.cc, _restart.cc and _success.cc, what it does is in job_controller_act.cc.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "jobs/platform.h"
#include "jobs/report.h"

namespace capstan::jobs {

// Seconds.
struct ControllerOptions {
  double stop_grace = 5;     // from asking to killing
  double serving_grace = 1;  // for a task that only serves to end by itself after the training
  double server_grace = 10;  // the same for a ps that did not say so, and for those whom the chief
                             // has left behind
  double evaluator_grace = 60;  // the same for an evaluator
  double chiefless = 5;         // how long all may wait for a chief that nobody is
  double say_waiting = 5;       // after the training, before it is said that others are waited for
};

// All calls on the loop's thread.
class JobController : private PlatformWatcher {
 public:
  // A `state` without tasks begins the job. Throws InvalidArgument for a spec that makes no sense.
  JobController(JobSpec spec, const Cluster& cluster, Platform& platform, Loop& loop,
                JobObserver& observer, JobState state = {}, ControllerOptions options = {});
  ~JobController() override;
  JobController(const JobController&) = delete;
  JobController& operator=(const JobController&) = delete;

  void start();
  // In order: trainers, then servers.
  void stop(std::string reason, int exit_code);
  // The platform is gone, and its tasks with it.
  void abandon(std::string reason);
  // For a signal: the first one stops in order, a second one at once.
  void interrupt(std::string_view name, int exit_code);
  // Called after state() has changed; before anything is done about a stop, so that whoever comes
  // after us knows why tasks are being stopped.
  void on_change(std::function<void()> changed) { on_change_ = std::move(changed); }

  bool done() const { return state_.done(); }
  const JobState& state() const { return state_; }
  JobReport report() const;

 private:
  void changed() override { soon(); }
  void log(const TaskId& task, std::string_view line) override;
  void progress(const TaskId& task, const Progress& progress) override;

  void soon();
  void reconcile();
  void look();
  void see(size_t i);
  void start_again(size_t i);
  void tell_change();
  void begin(size_t i);
  void end(size_t i);
  void lose(size_t i);
  void fail(size_t i);
  void resume_a_stop();
  bool is_lost(size_t i) const;
  bool came_twice(size_t i) const;
  bool policy_allows(size_t i) const;
  bool comes_back_from_success(size_t i) const;
  bool costs_nothing(size_t i) const;
  bool may_restart(size_t i) const;
  bool in_incident(size_t i) const;
  void plan_restart(size_t i);
  void wait_for_another(size_t i, std::string why, int back_offs);
  void keep_the_limit_of_restarts();
  int round() const;
  bool is_of_an_old_round(size_t i) const;
  bool end_the_old_round();
  void keep_deadline();
  void look_for_the_end();
  void look_for_a_chief();
  void forgive_whom_the_chief_left();
  void look_for_a_success();
  void forgive_what_followed_the_success();
  std::optional<double> succeeded_at() const;
  bool may_succeed() const;
  size_t share_of_workers() const;
  bool is_tolerated(size_t i) const;
  bool is_over() const;
  void act();
  void start_waiting();
  void stop_all();
  void drop_waiting();
  void let_go();
  void finish();
  void wake_for_the_next_moment();
  void stop_because(StopReason reason);

  size_t lead() const;
  bool stopping() const;
  bool running(size_t i) const { return state_.tasks[i].state == TaskState::kRunning; }
  bool is(size_t i, Role role) const { return roles_[i] == role; }
  bool serves(size_t i) const { return running(i) && seen_[i].told.serves; }
  bool waits_for_a_chief(size_t i) const;
  bool at_work(size_t i) const;
  bool trained(size_t i) const;
  double grace_of(size_t i) const;
  std::string no_chief() const;
  std::string targets() const;
  std::string reason_of(size_t cause) const;
  template <class Which>
  bool any(Which which) const {
    for (size_t i = 0; i < state_.tasks.size(); ++i) {
      if (which(i)) return true;
    }
    return false;
  }
  template <class Which>
  void ask_to_stop(Which which);
  template <class Which>
  std::optional<double> good_at(Which which, size_t needed) const;
  template <class Which>
  size_t count(Which which) const;

  const JobSpec spec_;
  const ControllerOptions options_;
  Platform& platform_;
  Loop& loop_;
  JobObserver& observer_;
  std::function<void()> on_change_;
  JobState state_;
  std::vector<TaskSpec> specs_;
  std::vector<Role> roles_;
  std::vector<TaskStatus> seen_;
  std::vector<bool> killed_;
  std::vector<bool> known_;  // this controller has seen it on the platform
  double now_ = 0;
  double chiefless_ = 0;  // since when all trainers wait for a chief; 0: they do not
  bool signalled_ = false, said_waiting_ = false, said_standing_ = false;
  bool scheduled_ = false, dirty_ = false, saved_stop_ = false;
  Loop::TimerId timer_ = 0;
  std::shared_ptr<bool> alive_;  // false once we are gone: a posted reconcile finds nobody
};

}  // namespace capstan::jobs
