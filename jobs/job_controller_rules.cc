// The rules of a job: what is tried again, when the training is over, and what is said of it.

#include <fmt/format.h>
#include <signal.h>

#include <limits>
#include <utility>

#include "jobs/failure.h"
#include "jobs/job_controller.h"

namespace capstan::jobs {
namespace {

// What fails so soon after a failure that was counted belongs to it.
constexpr double kIncident = 10.0;

}  // namespace

// Somebody is being stopped, and we do not know why: the controller before us did.
void JobController::resume_a_stop() {
  auto asked = [&](size_t i) { return seen_[i].asked_to_stop; };
  if (state_.stop || state_.trained > 0 || !any(asked)) return;
  stop_because({.at = now_, .text = "stopped", .exit_code = kExitSignalBase + SIGTERM});
}

bool JobController::may_restart(size_t i) const {
  const TaskReport& task = state_.tasks[i];
  const RestartPolicy policy = specs_[i].restart;
  const bool passing = is_passing(seen_[i]);
  if (policy == RestartPolicy::kNever || state_.stop || state_.trained > 0) return false;
  if (!passing && (seen_[i].start_error || policy == RestartPolicy::kPassing)) return false;
  if (!passing && !task.attempts.empty()) {
    const Attempt& last = task.attempts.back();
    if (last.why == why_text(task) && task.progress.step <= last.step) return false;
  }
  return in_incident(i) || state_.restarts < spec_.restarts;
}

// Once for each task, or else two that always take each other along would never end.
bool JobController::in_incident(size_t i) const {
  const std::vector<Attempt>& attempts = state_.tasks[i].attempts;
  const bool recent = state_.incident > 0 && now_ - state_.incident <= kIncident;
  return recent && (attempts.empty() || attempts.back().ended < state_.incident);
}

void JobController::plan_restart(size_t i) {
  TaskReport& task = state_.tasks[i];
  if (!in_incident(i)) {
    ++state_.restarts;
    state_.incident = now_;
  }
  task.attempts.push_back({.number = task.attempt,
                           .why = why_text(task),
                           .step = task.progress.step,
                           .started = task.started,
                           .ended = std::max(task.ended, now_)});
  const double delay = back_off(task);
  ++task.attempt;
  task.state = TaskState::kWaiting;
  task.start_at = now_ + delay;
  observer_.restarts(task, delay);
}

// The training is over when no trainer is at work; those that only serve are not, but for the time
// before anybody has trained.
void JobController::look_for_the_end() {
  if (state_.trained > 0 || state_.stop) return;
  const bool chief_decides = spec_.success == SuccessRule::kChief;
  auto works = [&](size_t i) { return at_work(i); };
  auto has_trained = [&](size_t i) { return is(i, Role::kTrainer) && trained(i); };
  if (chief_decides ? trained(lead()) : !any(works) && any(has_trained)) {
    state_.trained = now_;
    dirty_ = true;
  } else if (!any(works) && !std::exchange(said_standing_, true)) {
    observer_.note(fmt::format(
        "every worker only serves, for clients at {}; the job stands until it is stopped (Ctrl-C)",
        targets()));
  }
}

// Where the chief decides, and it ended well, those whom it left behind may fail of that.
void JobController::forgive_whom_the_chief_left() {
  if (spec_.success != SuccessRule::kChief || stopping()) return;
  const TaskReport& chief = state_.tasks[lead()];
  const bool by_failure = state_.stop && state_.stop->exit_code == 0;
  if (!by_failure || !chief.success()) return;
  auto failed = [&](size_t i) { return state_.tasks[i].state == TaskState::kFailed; };
  auto left = [&](size_t i) {
    return is(i, Role::kTrainer) && state_.tasks[i].failed_at >= chief.ended;
  };
  if (any([&](size_t i) { return failed(i) && !left(i); })) return;
  for (size_t i = 0; i < state_.tasks.size(); ++i) {
    if (failed(i)) state_.tasks[i].state = TaskState::kStopped;
  }
  state_.stop.reset();
  dirty_ = true;
}

// Where everybody waits for a chief none of them is one, and nobody else will be.
void JobController::look_for_a_chief() {
  auto waits = [&](size_t i) { return waits_for_a_chief(i); };
  auto others = [&](size_t i) { return at_work(i) && !waits_for_a_chief(i); };
  if (state_.stop || !any(waits) || any(others)) {
    chiefless_ = 0;
  } else if (chiefless_ == 0) {
    chiefless_ = now_;
  } else if (now_ - chiefless_ >= options_.chiefless) {
    stop_because({.at = now_, .text = no_chief(), .exit_code = kExitFailure});
  }
}

double JobController::grace_of(size_t i) const {
  if (serves(i)) return options_.serving_grace;
  if (!is(i, Role::kEvaluator)) return options_.server_grace;
  return spec_.wait_for_evaluator ? std::numeric_limits<double>::infinity()
                                  : options_.evaluator_grace;
}

bool JobController::stopping() const { return state_.stop && now_ >= state_.stop->at; }

// The task whose end is the end under SuccessRule::kChief.
size_t JobController::lead() const {
  for (const char* job : {"chief", "master", "worker"}) {
    for (size_t i = 0; i < state_.tasks.size(); ++i) {
      if (state_.tasks[i].task.job == job && state_.tasks[i].task.index == 0) return i;
    }
  }
  return state_.tasks.size() - 1;
}

bool JobController::waits_for_a_chief(size_t i) const {
  return is(i, Role::kTrainer) && running(i) && seen_[i].told.waits_for == "chief";
}

bool JobController::at_work(size_t i) const {
  return is(i, Role::kTrainer) && !state_.tasks[i].done() && !serves(i);
}

// Its part of the training has ended: it has, or it told us so.
bool JobController::trained(size_t i) const {
  return state_.tasks[i].done() || (running(i) && seen_[i].told.serves && seen_[i].told.trained);
}

std::string JobController::no_chief() const {
  std::vector<std::string> waiting, ended;
  for (size_t i = 0; i < state_.tasks.size(); ++i) {
    if (!is(i, Role::kTrainer) || serves(i)) continue;
    (running(i) ? waiting : ended).push_back(state_.tasks[i].task.name());
  }
  std::string who = fmt::format("{} wait{} for a chief to initialise the model",
                                fmt::join(waiting, ", "), waiting.size() == 1 ? "s" : "");
  if (!ended.empty()) {
    return fmt::format("{}, but {} ended already and did not", who, fmt::join(ended, ", "));
  }
  return who +
         ", and none is the chief: is_chief must be true for one of them, as "
         "is_chief=(task_index == 0); a program whose chief is a job of its own needs --chief";
}

std::string JobController::targets() const {
  std::vector<std::string> out;
  for (size_t i = 0; i < state_.tasks.size(); ++i) {
    const TaskReport& task = state_.tasks[i];
    if (is(i, Role::kTrainer)) out.push_back(fmt::format("grpc://{}:{}", task.host, task.port));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string JobController::reason_of(size_t cause) const {
  const TaskReport& task = state_.tasks[cause];
  const char* how = task.over_memory() ? "" : task.signal ? "ended by " : "with ";
  std::string text = fmt::format("{} failed first, {}{}", task.task.name(), how, end_text(task));
  if (task.attempts.empty()) return text;
  return fmt::format("{}, in attempt {} (--restart {})", text, task.attempt, spec_.restarts);
}

JobReport JobController::report() const {
  JobReport report;
  report.tasks = state_.tasks;
  for (size_t i = 0; i < report.tasks.size(); ++i) {
    if (report.tasks[i].state != TaskState::kFailed) continue;
    const bool first =
        !report.cause || report.tasks[i].failed_at < report.tasks[*report.cause].failed_at;
    if (first) report.cause = i;
  }
  // What fails after somebody stopped the job is no cause of its end.
  if (state_.stop && state_.stop->exit_code != 0) {
    report.reason = state_.stop->text;
    report.exit_code = state_.stop->exit_code;
    report.cause.reset();
  }
  if (report.cause) {
    report.exit_code = report.tasks[*report.cause].exit_code;
    report.reason = reason_of(*report.cause);
    report.last_lines = platform_.last_lines(report.tasks[*report.cause].task);
    report.start_error = seen_[*report.cause].start_error;
  }
  return report;
}

}  // namespace capstan::jobs
