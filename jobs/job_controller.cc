#include "jobs/job_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"

namespace capstan::jobs {
namespace {

constexpr double kTick = 1e-6;  // a timer must not fire before the moment that it is for

JobState fresh_state(const JobSpec& spec) {
  JobState state;
  for (const TaskId& id : tasks_of(spec)) state.tasks.push_back({.task = id});
  return state;
}

// Where the task will be reached; the platform may know better once it runs.
void put_address(TaskReport& task, const Cluster& cluster) {
  for (const auto& [job, addresses] : cluster) {
    if (job != task.task.job || size_t(task.task.index) >= addresses.size()) continue;
    const std::string& address = addresses[size_t(task.task.index)];
    const size_t colon = address.rfind(':');
    task.host = address.substr(0, colon);
    task.port = uint16_t(std::strtoul(address.c_str() + colon + 1, nullptr, 10));
  }
}

}  // namespace

JobController::JobController(JobSpec spec, const Cluster& cluster, Platform& platform, Loop& loop,
                             JobObserver& observer, JobState state, ControllerOptions options)
    : spec_(std::move(spec)),
      options_(options),
      platform_(platform),
      loop_(loop),
      observer_(observer),
      state_(std::move(state)),
      alive_(std::make_shared<bool>(true)) {
  check(spec_);
  if (state_.tasks.empty()) {
    state_ = fresh_state(spec_);
    for (TaskReport& task : state_.tasks) put_address(task, cluster);
  }
  for (TaskReport& task : state_.tasks) {
    specs_.push_back(task_spec(spec_, cluster, task.task));
    task.memory_limit = specs_.back().memory_limit.value_or(0);
    roles_.push_back(role_of(task.task.job));
  }
  seen_.resize(state_.tasks.size());
  killed_.resize(state_.tasks.size());
  known_.resize(state_.tasks.size());
  saved_stop_ = state_.stop.has_value();
  platform_.watch(this);
}

JobController::~JobController() {
  platform_.watch(nullptr);
  loop_.cancel(timer_);
  *alive_ = false;
}

void JobController::start() {
  if (state_.started == 0) state_.started = seconds_of(loop_.now());
  dirty_ = true;
  reconcile();
}

void JobController::stop(std::string reason, int exit_code) {
  if (done()) return;
  now_ = seconds_of(loop_.now());
  stop_because({.at = now_, .text = std::move(reason), .exit_code = exit_code});
  soon();
}

void JobController::abandon(std::string reason) {
  if (done()) return;
  stop(std::move(reason), kExitFailure);
  for (TaskReport& task : state_.tasks) {
    if (!task.done()) task.state = TaskState::kStopped;
  }
}

// A failure that waits for its consequences does not hold back a Ctrl-C, nor make it the second
// one.
void JobController::interrupt(std::string_view name, int exit_code) {
  if (done()) return;
  const bool was_told = state_.stop && state_.stop->exit_code != 0;
  const bool at_once = was_told || std::exchange(signalled_, true);
  if (!at_once) observer_.note(fmt::format("{}: stopping; once more to kill at once", name));
  stop(fmt::format("stopped by {}", name), exit_code);
  state_.stop->at_once |= at_once;
}

void JobController::log(const TaskId& task, std::string_view line) { observer_.log(task, line); }

void JobController::progress(const TaskId& task, const Progress& progress) {
  for (TaskReport& report : state_.tasks) {
    if (report.task == task) report.progress = progress;
  }
  observer_.progress(task, progress);
}

void JobController::soon() {
  if (std::exchange(scheduled_, true)) return;
  loop_.post([this, alive = alive_] {
    if (*alive) reconcile();
  });
}

void JobController::reconcile() {
  scheduled_ = false;
  if (state_.done()) return;
  now_ = seconds_of(loop_.now());
  look();
  resume_a_stop();
  keep_deadline();
  keep_the_limit_of_restarts();
  forgive_whom_the_chief_left();
  look_for_the_end();
  look_for_a_chief();
  act();
  is_over() ? finish() : wake_for_the_next_moment();
  tell_change();
}

void JobController::tell_change() {
  saved_stop_ = state_.stop.has_value();
  if (std::exchange(dirty_, false) && on_change_) on_change_();
}

void JobController::keep_deadline() {
  if (!spec_.timeout_seconds || now_ - state_.started < *spec_.timeout_seconds) return;
  if (counts_ends(spec_.success) && state_.trained > 0 && !spec_.wait_for_evaluator) return;
  stop_because({.at = now_,
                .text = fmt::format("not done after {} s, its timeout", *spec_.timeout_seconds),
                .exit_code = kExitTimeout,
                .limit = true});
}

void JobController::finish() {
  state_.ended = now_;
  loop_.cancel(timer_);
  platform_.clean_up();
  dirty_ = true;
}

void JobController::wake_for_the_next_moment() {
  double next = std::numeric_limits<double>::infinity();
  auto consider = [&](double time) {
    if (time > now_) next = std::min(next, time);
  };
  if (spec_.timeout_seconds) consider(state_.started + *spec_.timeout_seconds);
  if (state_.stop) consider(state_.stop->at);
  if (chiefless_ > 0) consider(chiefless_ + options_.chiefless);
  if (state_.trained > 0) consider(state_.trained + options_.say_waiting);
  for (size_t i = 0; i < state_.tasks.size(); ++i) {
    if (state_.tasks[i].state == TaskState::kWaiting) consider(state_.tasks[i].start_at);
    if (state_.tasks[i].asked_at > 0 && running(i)) {
      consider(state_.tasks[i].asked_at + options_.stop_grace);
    }
    if (state_.trained > 0 && running(i)) consider(state_.trained + grace_of(i));
  }
  loop_.cancel(timer_);
  if (next < std::numeric_limits<double>::infinity()) {
    timer_ = loop_.at(deadline_of(next + kTick), [this] { reconcile(); });
  }
}

void JobController::stop_because(StopReason reason) {
  dirty_ = true;
  if (!state_.stop) {
    state_.stop = std::move(reason);
    return;
  }
  state_.stop->at = std::min(state_.stop->at, reason.at);
  state_.stop->at_once |= reason.at_once;
}

}  // namespace capstan::jobs
