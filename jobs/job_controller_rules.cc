// The rules of a job: what is tried again, when the training is over, and what is said of it.

#include <fmt/format.h>
#include <signal.h>

#include <limits>
#include <utility>

#include "jobs/failure.h"
#include "jobs/job_controller.h"

namespace capstan::jobs {
// Somebody is being stopped, and we do not know why: the controller before us did.
void JobController::resume_a_stop() {
  auto asked = [&](size_t i) {
    const bool present = seen_[i].attempt == state_.tasks[i].attempt;
    return present && seen_[i].asked_to_stop && !is_of_an_old_round(i);
  };
  if (state_.stop || state_.trained > 0 || !any(asked)) return;
  stop_because({.at = now_, .text = "stopped", .exit_code = kExitSignalBase + SIGTERM});
}

// The training is over when no trainer is at work; those that only serve are not, but for the time
// before anybody has trained.
void JobController::look_for_the_end() {
  if (state_.trained > 0 || state_.stop) return;
  if (counts_ends(spec_.success)) return look_for_a_success();
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
  if (counts_ends(spec_.success)) return forgive_what_followed_the_success();
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
    if (!state_.stop || report.tasks[i].state != TaskState::kFailed) continue;
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
    // 0 of one that was to come back whatever its code, and could not.
    const int code = report.tasks[*report.cause].exit_code;
    report.exit_code = code == 0 ? kExitFailure : code;
    report.reason = reason_of(*report.cause);
    report.last_lines = platform_.last_lines(report.tasks[*report.cause].task);
    report.start_error = seen_[*report.cause].start_error;
  }
  return report;
}

}  // namespace capstan::jobs
