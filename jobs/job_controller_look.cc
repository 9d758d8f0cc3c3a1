// What a controller sees of its tasks, and what it makes of that: begun, ended, failed, lost.

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "jobs/failure.h"
#include "jobs/job_controller.h"

namespace capstan::jobs {
namespace {

// After the first failure the others may fail by themselves for a moment, so that the one that
// really came first can be told from its consequences.
constexpr double kSettle = 0.25;

}  // namespace

void JobController::look() {
  std::vector<TaskStatus> list = platform_.list();
  for (size_t i = 0; i < state_.tasks.size(); ++i) {
    auto found = std::ranges::find(list, state_.tasks[i].task, &TaskStatus::task);
    if (found != list.end()) {
      seen_[i] = std::move(*found);
      known_[i] = true;
      see(i);
    } else if (running(i)) {
      // What another controller asked for may not have come to be; a process would have its id.
      known_[i] || state_.tasks[i].pid != 0 ? lose(i) : start_again(i);
    }
  }
}

void JobController::see(size_t i) {
  TaskReport& task = state_.tasks[i];
  const TaskStatus& status = seen_[i];
  const bool is_next = status.attempt == task.attempt && task.state == TaskState::kWaiting;
  if (is_next || (status.attempt > task.attempt && !task.done())) begin(i);
  if (status.attempt < task.attempt && running(i) && status.ended) start_again(i);
  if (status.attempt != task.attempt || !running(i)) return;
  if (status.port != 0) task.port = status.port;
  dirty_ |= task.pid != status.pid;
  task.pid = status.pid;
  task.started = status.started_at;
  dirty_ |= task.in_place != status.restarts;
  task.in_place = status.restarts;
  // It may have gone on while nobody listened. Nothing told is no step back.
  const Progress& told = status.told.progress;
  if (told != Progress() && told != task.progress) progress(task.task, told);
  if (status.ended) end(i);
}

// The controller before us had it started, and that was lost on the way.
void JobController::start_again(size_t i) {
  TaskReport& task = state_.tasks[i];
  task.state = TaskState::kWaiting;
  task.start_at = 0;
  dirty_ = true;
}

void JobController::begin(size_t i) {
  TaskReport& task = state_.tasks[i];
  const TaskStatus& status = seen_[i];
  // Started by a controller that could not tell us any more.
  for (; task.attempt < status.attempt; ++task.attempt, ++state_.restarts) {
    task.attempts.push_back(
        {.number = task.attempt, .why = "not known: its controller was killed"});
  }
  task.state = TaskState::kRunning;
  task.pid = status.pid;
  task.started = status.started_at;
  task.exit_code = task.signal = 0;
  task.error = task.error_code = "";
  task.failed_at = task.start_at = task.ended = task.asked_at = 0;
  killed_[i] = false;
  dirty_ = true;
  if (!status.start_error) observer_.started(task);
}

void JobController::end(size_t i) {
  TaskReport& task = state_.tasks[i];
  const TaskStatus& status = seen_[i];
  task.exit_code = status.exit_code;
  task.signal = status.signal;
  task.ended = status.ended_at;
  task.seconds = status.ended_at - status.started_at;
  task.peak_memory = std::max(task.peak_memory, status.peak_memory);
  if (status.told.error) task.error = status.told.error->message;
  if (status.told.error) task.error_code = status.told.error->code;
  if (status.start_error) task.error = status.start_error->message();
  dirty_ = true;
  if (status.asked_to_stop && !stopping() && is_of_an_old_round(i)) {
    return wait_for_another(i, "stopped, to come back with the others", 0);
  }
  if (status.asked_to_stop) {
    // A server or evaluator that outstayed a good training is not at fault.
    const bool outstayed = state_.trained > 0 && !stopping();
    task.state = outstayed ? TaskState::kSucceeded : TaskState::kStopped;
  } else if (task.exit_code == 0 && !comes_back_from_success(i)) {
    task.state = TaskState::kSucceeded;
  } else {
    return fail(i);
  }
  observer_.ended(task);
}

// It ran, and the platform knows nothing of it: its machine is gone, or somebody removed it.
void JobController::lose(size_t i) {
  TaskReport& task = state_.tasks[i];
  TaskStatus lost{.task = task.task, .attempt = task.attempt, .ended = true};
  lost.started_at = task.started;
  lost.ended_at = now_;
  lost.exit_code = kExitSignalBase + SIGKILL;
  lost.signal = SIGKILL;
  lost.told.error = TaskError{now_, std::string(kLost), "lost: nothing is seen of it any more"};
  lost.asked_to_stop = task.asked_at > 0;
  seen_[i] = std::move(lost);
  end(i);
}

void JobController::fail(size_t i) {
  TaskReport& task = state_.tasks[i];
  task.failed_at = failure_time(seen_[i]);
  if (may_restart(i)) return plan_restart(i);
  task.state = TaskState::kFailed;
  const bool begun = !seen_[i].start_error;
  if (begun) observer_.ended(task);
  if (counts_ends(spec_.success) && state_.trained > 0) {
    task.state = TaskState::kStopped;
    return;
  }
  if (is_tolerated(i)) return;
  const bool never_begun = !begun && task.attempts.empty();
  StopReason reason{.at = now_ + (begun ? kSettle : 0), .at_once = never_begun};
  reason.limit = policy_allows(i) && state_.restarts >= spec_.restarts;
  // It did nothing wrong but to end.
  if (task.exit_code == 0) {
    reason.text = fmt::format("ended {} times, and {} is the limit", task.attempt, spec_.restarts);
    reason.exit_code = kExitFailure;
  }
  stop_because(std::move(reason));
}

}  // namespace capstan::jobs
