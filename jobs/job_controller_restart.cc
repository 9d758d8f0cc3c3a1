// What is tried again, what that costs, and who comes back together.

#include <fmt/format.h>

#include <algorithm>

#include "jobs/failure.h"
#include "jobs/job_controller.h"

namespace capstan::jobs {

bool JobController::is_lost(size_t i) const {
  return spec_.replace_lost && seen_[i].told.error && seen_[i].told.error->code == kLost;
}

bool JobController::came_twice(size_t i) const {
  const TaskReport& task = state_.tasks[i];
  if (task.attempts.empty()) return false;
  const Attempt& last = task.attempts.back();
  return last.why == why_text(task) && task.progress.step <= last.step;
}

bool JobController::policy_allows(size_t i) const {
  const TaskStatus& seen = seen_[i];
  const bool over_memory = seen.told.error && seen.told.error->code == kOverMemory;
  const bool passing = is_passing(seen);
  switch (specs_[i].restart) {
    case RestartPolicy::kNever: return false;
    case RestartPolicy::kPassing: return passing;
    case RestartPolicy::kOnFailure: return passing || (!seen.start_error && !came_twice(i));
    case RestartPolicy::kExitCode:
      return seen.start_error ? passing : seen.exit_code >= kExitSignalBase && !over_memory;
    case RestartPolicy::kEveryFailure:
    case RestartPolicy::kAlways: return !seen.start_error || passing;
  }
  return false;
}

bool JobController::comes_back_from_success(size_t i) const {
  return specs_[i].restart == RestartPolicy::kAlways && !state_.stop && state_.trained == 0;
}

bool JobController::costs_nothing(size_t i) const {
  return is_lost(i) || is_of_an_old_round(i) || in_incident(i);
}

bool JobController::may_restart(size_t i) const {
  if (state_.stop || state_.trained > 0) return false;
  if (!is_lost(i) && !is_of_an_old_round(i) && !policy_allows(i)) return false;
  return costs_nothing(i) || state_.restarts < spec_.restarts;
}

// Once for each task, or else two that always take each other along would never end.
bool JobController::in_incident(size_t i) const {
  const std::vector<Attempt>& attempts = state_.tasks[i].attempts;
  const bool recent =
      spec_.incident > 0 && state_.incident > 0 && now_ - state_.incident <= spec_.incident;
  return recent && (attempts.empty() || attempts.back().ended < state_.incident);
}

void JobController::plan_restart(size_t i) {
  TaskReport& task = state_.tasks[i];
  const int cost = costs_nothing(i) ? 0 : 1;
  if (cost > 0) state_.incident = now_;
  state_.restarts += cost + task.in_place;
  task.restarts += cost + task.in_place;
  task.in_place = 0;
  const bool at_once = is_lost(i) && task.attempts.empty();
  wait_for_another(i, why_text(task), at_once ? 0 : 1);
}

void JobController::wait_for_another(size_t i, std::string why, int back_offs) {
  TaskReport& task = state_.tasks[i];
  task.attempts.push_back({.number = task.attempt,
                           .why = std::move(why),
                           .step = task.progress.step,
                           .started = task.started,
                           .ended = std::max(task.ended, now_)});
  const double delay = back_offs > 0 ? back_off(task) : 0;
  task.attempt = spec_.restart_together ? std::max(round(), task.attempt + 1) : task.attempt + 1;
  task.state = TaskState::kWaiting;
  task.start_at = now_ + delay;
  dirty_ = true;
  observer_.restarts(task, delay);
}

// Restarts that the platform makes by itself are seen after the fact.
void JobController::keep_the_limit_of_restarts() {
  int in_place = 0;
  for (const TaskReport& task : state_.tasks) in_place += task.in_place;
  const int all = state_.restarts + in_place;
  if (state_.stop || state_.trained > 0 || in_place == 0 || all < spec_.restarts) return;
  stop_because({.at = now_,
                .text = fmt::format("restarted {} times, and {} is the limit", all, spec_.restarts),
                .exit_code = kExitFailure,
                .limit = true});
}

// Where all come back together they share the number of the attempt.
int JobController::round() const {
  int newest = 1;
  for (const TaskReport& task : state_.tasks) {
    if (!task.done()) newest = std::max(newest, task.attempt);
  }
  return newest;
}

bool JobController::is_of_an_old_round(size_t i) const {
  return spec_.restart_together && state_.tasks[i].attempt < round();
}

}  // namespace capstan::jobs
