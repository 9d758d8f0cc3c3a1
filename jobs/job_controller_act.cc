// What a controller does: starts what waits, stops what is to end, in order.

#include <utility>

#include "jobs/job_controller.h"

namespace capstan::jobs {

void JobController::act() {
  if (state_.stop) {
    if (stopping()) stop_all();
  } else if (state_.trained > 0) {
    let_go();
  } else {
    start_waiting();
  }
}

void JobController::start_waiting() {
  if (end_the_old_round()) return;
  bool started = false;
  for (size_t i = 0; i < state_.tasks.size(); ++i) {
    TaskReport& task = state_.tasks[i];
    if (task.state != TaskState::kWaiting || task.start_at > now_) continue;
    if (is_of_an_old_round(i)) task.attempt = round();
    platform_.start(specs_[i], task.attempt);
    started = true;
  }
  if (started) look();
  if (stopping()) stop_all();
}

void JobController::stop_all() {
  // The tasks that we ask to stop would not tell the next controller why.
  if (!saved_stop_) tell_change();
  drop_waiting();
  if (spec_.at_end == AtEnd::kLeave) return;
  auto others = [&](size_t i) { return !is(i, Role::kServer); };
  auto run = [&](size_t i) { return others(i) && running(i); };
  ask_to_stop(others);
  if (state_.stop->at_once || !any(run)) ask_to_stop([&](size_t i) { return !others(i); });
}

// What waited for another try of its own is as failed as it was before.
void JobController::drop_waiting() {
  for (TaskReport& task : state_.tasks) {
    if (task.state != TaskState::kWaiting) continue;
    const bool failed = task.failed_at > 0 && !task.attempts.empty() && task.exit_code != 0;
    const bool by_failure = state_.stop && state_.stop->exit_code == 0;
    task.state = failed && by_failure ? TaskState::kFailed : TaskState::kStopped;
    if (!task.attempts.empty()) {
      task.attempt = task.attempts.back().number;
      task.attempts.pop_back();
    }
    dirty_ = true;
  }
}

void JobController::let_go() {
  drop_waiting();
  if (spec_.at_end == AtEnd::kLeave) return;
  const double waited = now_ - state_.trained;
  if (waited >= options_.say_waiting && !std::exchange(said_waiting_, true)) {
    observer_.note("all trainers have ended; waiting for the rest to end by itself");
  }
  ask_to_stop([&](size_t i) { return waited >= grace_of(i); });
}

template <class Which>
void JobController::ask_to_stop(Which which) {
  const bool at_once = state_.stop && state_.stop->at_once;
  for (size_t i = 0; i < state_.tasks.size(); ++i) {
    TaskReport& task = state_.tasks[i];
    if (!running(i) || !which(i)) continue;
    if (task.asked_at == 0) {
      task.asked_at = now_;
      dirty_ = true;
      if (!seen_[i].asked_to_stop) platform_.stop(task.task, StopHow::kAsk);
    }
    if (!at_once && now_ - task.asked_at < options_.stop_grace) continue;
    if (!killed_[i]) platform_.stop(task.task, StopHow::kKill);
    killed_[i] = true;
  }
}

// Whoever still runs would meet peers that begin anew.
bool JobController::end_the_old_round() {
  auto old = [&](size_t i) { return running(i) && is_of_an_old_round(i); };
  if (!any(old)) return false;
  ask_to_stop(old);
  return true;
}

}  // namespace capstan::jobs
