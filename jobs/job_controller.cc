#include "jobs/job_controller.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "jobs/failure.h"

namespace capstan::jobs {
namespace {

// After the first failure the others may fail by themselves for a moment, so that the one that
// really came first can be told from its consequences.
constexpr double kSettle = 0.25;
constexpr double kTick = 1e-6;  // a timer must not fire before the moment that it is for
constexpr double kSayWaiting = 5.0;

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
  forgive_whom_the_chief_left();
  look_for_the_end();
  look_for_a_chief();
  act();
  auto left = [&](size_t i) { return !state_.tasks[i].done(); };
  any(left) ? wake_for_the_next_moment() : finish();
  tell_change();
}

void JobController::tell_change() {
  saved_stop_ = state_.stop.has_value();
  if (std::exchange(dirty_, false) && on_change_) on_change_();
}

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
  if (status.asked_to_stop) {
    // A server or evaluator that outstayed a good training is not at fault.
    const bool outstayed = state_.trained > 0 && !stopping();
    task.state = outstayed ? TaskState::kSucceeded : TaskState::kStopped;
  } else if (task.exit_code == 0) {
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
  const bool never_begun = !begun && task.attempts.empty();
  stop_because({.at = now_ + (begun ? kSettle : 0), .at_once = never_begun});
}

void JobController::keep_deadline() {
  if (!spec_.timeout_seconds || now_ - state_.started < *spec_.timeout_seconds) return;
  stop_because({.at = now_,
                .text = fmt::format("not done after {} s (--timeout)", *spec_.timeout_seconds),
                .exit_code = kExitTimeout});
}

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
  bool started = false;
  for (size_t i = 0; i < state_.tasks.size(); ++i) {
    const TaskReport& task = state_.tasks[i];
    if (task.state != TaskState::kWaiting || task.start_at > now_) continue;
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
  auto others = [&](size_t i) { return !is(i, Role::kServer); };
  auto run = [&](size_t i) { return others(i) && running(i); };
  ask_to_stop(others);
  if (state_.stop->at_once || !any(run)) ask_to_stop([&](size_t i) { return !others(i); });
}

// What waited for another try of its own is as failed as it was before.
void JobController::drop_waiting() {
  for (TaskReport& task : state_.tasks) {
    if (task.state != TaskState::kWaiting) continue;
    const bool failed = task.failed_at > 0 && !task.attempts.empty();
    const bool by_failure = state_.stop && state_.stop->exit_code == 0;
    task.state = failed && by_failure ? TaskState::kFailed : TaskState::kStopped;
    if (!task.attempts.empty()) {
      --task.attempt;
      task.attempts.pop_back();
    }
    dirty_ = true;
  }
}

void JobController::let_go() {
  drop_waiting();
  const double waited = now_ - state_.trained;
  if (waited >= kSayWaiting && !std::exchange(said_waiting_, true)) {
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
  if (state_.trained > 0) consider(state_.trained + kSayWaiting);
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
