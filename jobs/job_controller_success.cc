// When a job has succeeded, where only ends with code 0 count.

#include <algorithm>
#include <limits>

#include "jobs/job_controller.h"

namespace capstan::jobs {
namespace {

bool leads(const TaskId& task) { return task.job == "chief" || task.job == "master"; }
bool works(const TaskId& task) { return task.job == "worker"; }

}  // namespace

// The moment at which `needed` of those tasks had ended well.
template <class Which>
std::optional<double> JobController::good_at(Which which, size_t needed) const {
  std::vector<double> ends;
  for (const TaskReport& task : state_.tasks) {
    if (which(task.task) && task.success()) ends.push_back(task.ended);
  }
  if (needed == 0 || ends.size() < needed) return std::nullopt;
  std::ranges::sort(ends);
  return ends[needed - 1];
}

template <class Which>
size_t JobController::count(Which which) const {
  return size_t(std::ranges::count_if(state_.tasks, [&](const TaskReport& task) {
    const bool given_up =
        spec_.least_workers && works(task.task) && task.state == TaskState::kFailed;
    return which(task.task) && !given_up;
  }));
}

std::optional<double> JobController::succeeded_at() const {
  if (spec_.success == SuccessRule::kShare) return good_at(works, share_of_workers());
  const bool workers_only = spec_.success == SuccessRule::kWorkers;
  if (!workers_only && count(leads) > 0) return good_at(leads, count(leads));
  const auto all = good_at(works, count(works));
  const auto first = good_at([](const TaskId& task) { return task == TaskId{"worker", 0}; }, 1);
  if (workers_only || !first) return all;
  return all ? std::min(*all, *first) : *first;
}

size_t JobController::share_of_workers() const {
  const auto workers =
      std::ranges::count_if(state_.tasks, [](const TaskReport& task) { return works(task.task); });
  return size_t((workers * spec_.share + 99) / 100);
}

void JobController::look_for_a_success() {
  if (succeeded_at()) {
    state_.trained = now_;
    dirty_ = true;
  } else if (!may_succeed()) {
    stop_because({.at = now_,
                  .text = "too few of the tasks whose success counts have ended well, and none is "
                          "left",
                  .exit_code = kExitFailure});
  }
}

// Where nobody's success counts the job stands as long as anything runs.
bool JobController::may_succeed() const {
  const bool by_leads = spec_.success == SuccessRule::kLead && count(leads) > 0;
  const bool by_workers = !by_leads && any([&](size_t i) { return works(state_.tasks[i].task); });
  return any([&](size_t i) {
    const TaskReport& task = state_.tasks[i];
    const bool counts = by_leads ? leads(task.task) : !by_workers || works(task.task);
    return counts && !task.done();
  });
}

// Whoever fails once the result is there was left behind.
void JobController::forgive_what_followed_the_success() {
  const bool by_failure = state_.stop && state_.stop->exit_code == 0;
  const std::optional<double> success = succeeded_at();
  if (!by_failure || stopping() || !success) return;
  auto failed = [&](size_t i) { return state_.tasks[i].state == TaskState::kFailed; };
  auto counts = [&](size_t i) { return failed(i) && !is_tolerated(i); };
  if (any([&](size_t i) { return counts(i) && state_.tasks[i].failed_at < *success; })) return;
  for (size_t i = 0; i < state_.tasks.size(); ++i) {
    if (counts(i)) state_.tasks[i].state = TaskState::kStopped;
  }
  state_.stop.reset();
  dirty_ = true;
}

// Enough others are left without it.
bool JobController::is_tolerated(size_t i) const {
  if (!spec_.least_workers || !works(state_.tasks[i].task)) return false;
  int left = 0;
  for (const TaskReport& task : state_.tasks) {
    const bool counts = works(task.task) && &task != &state_.tasks[i];
    if (counts && task.state != TaskState::kFailed) ++left;
  }
  return left >= *spec_.least_workers;
}

// Nothing more is to be decided, and nothing to be stopped.
bool JobController::is_over() const {
  auto left = [&](size_t i) { return !state_.tasks[i].done(); };
  if (spec_.at_end == AtEnd::kStop || (!stopping() && state_.trained == 0)) return !any(left);
  auto waited_for = [&](size_t i) {
    return spec_.wait_for_evaluator && is(i, Role::kEvaluator) && left(i);
  };
  return stopping() || !any(waited_for);
}

}  // namespace capstan::jobs
