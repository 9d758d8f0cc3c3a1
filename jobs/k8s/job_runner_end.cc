// How a job stands, how it ends, and what is done then.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/k8s/job_memory.h"
#include "jobs/k8s/job_runner.h"

namespace capstan::jobs::k8s {

// Those whose end is the job's run.
void JobRunner::note_running() {
  if (!live_ || status_.ended() || is_restarting()) return;
  const ReplicaSpec* chief = job_.chief();
  const std::string lead(task_name(chief ? chief->type : ReplicaType::kWorker));
  for (const auto& [name, pod] : pods_.pods) {
    if (!pod.task || pod.task->job != lead) continue;
    if (pod.phase != PodPhase::kRunning || pod.is_going()) continue;
    const std::string message = phase_message(job_, JobPhase::kRunning);
    enter(status_, JobPhase::kRunning, message, context_.clock.wall());
    return;
  }
}

// Until whoever is to come back runs.
bool JobRunner::is_restarting() const {
  if (!status_.is(JobPhase::kRestarting)) return false;
  return std::ranges::any_of(live_->controller.state().tasks, [&](const TaskReport& task) {
    return task.attempt > 1 && !task.done() && is_pending(task);
  });
}

bool JobRunner::is_pending(const TaskReport& task) const {
  const PodSeen* pod = pod_of(task.task);
  const bool old = pod && pod->attempt < task.attempt;
  return task.state == TaskState::kWaiting || !pod || old || pod->phase == PodPhase::kPending;
}

const PodSeen* JobRunner::pod_of(const TaskId& task) const {
  const auto type = replica_type(task.job);
  return type ? pods_.pod(replica_name(job_, *type, task.index)) : nullptr;
}

void JobRunner::count() {
  const JobState& state = live_->controller.state();
  auto pending = [&](const TaskId& task) {
    return is_pending(*std::ranges::find(state.tasks, task, &TaskReport::task));
  };
  status_.replicas = count_replicas(job_, state, pending);
  status_.controller = memory_of(state);
  // One that is on its way out does not count as running any more.
  for (const TaskReport& task : state.tasks) {
    const PodSeen* pod = pod_of(task.task);
    if (task.state != TaskState::kRunning || is_pending(task) || !pod->is_going()) continue;
    auto found =
        std::ranges::find(status_.replicas, *replica_type(task.task.job), &ReplicaStatus::type);
    --found->active;
    ++found->failed;
  }
}

void JobRunner::restarts(const TaskReport& task, double) {
  if (task.error_code == kLost) return;
  ended(task);
  const std::string message =
      fmt::format("{}: {}", phase_message(job_, JobPhase::kRestarting),
                  fmt::format("{}, {}", task.task.name(), task.attempts.back().why));
  say(EventType::kWarning, "TFJobRestarting", message);
  enter(status_, JobPhase::kRestarting, message, context_.clock.wall());
}

void JobRunner::ended(const TaskReport& task) {
  const auto type = replica_type(task.task.job);
  if (!type) return;
  say(EventType::kNormal, "ExitedWithCode",
      fmt::format("Pod: {}.{} exited with code {}", job_.space,
                  replica_name(job_, *type, task.task.index), task.exit_code));
}

void JobRunner::conclude() {
  const JobState state = live_->controller.state();
  const JobReport report = live_->controller.report();
  count();
  stop_living();
  if (state.stop) {
    conclude_failure(report, state);
  } else {
    const std::string message = phase_message(job_, JobPhase::kSucceeded);
    say(EventType::kNormal, "TFJobSucceeded", message);
    enter(status_, JobPhase::kSucceeded, message, context_.clock.wall());
    count_cleaned(status_);
  }
  be_finished();
}

void JobRunner::conclude_failure(const JobReport& report, const JobState& state) {
  const std::string message = failure_message(report, state);
  const bool limit = state.stop->limit;
  say(limit ? EventType::kNormal : EventType::kWarning, "TFJobFailed", message);
  enter(status_, JobPhase::kFailed, message, context_.clock.wall());
}

std::string JobRunner::failure_message(const JobReport& report, const JobState& state) const {
  const std::string what = phase_message(job_, JobPhase::kFailed);
  if (state.stop->exit_code == kExitTimeout) {
    return fmt::format("{}: it was active longer than its deadline of {} s", what,
                       *job_.deadline_seconds);
  }
  std::string why = report.reason;
  if (report.start_error) why = report.start_error->message();
  if (state.stop->limit) {
    why = fmt::format("it has reached its limit of {} restarts (backoffLimit); {}",
                      job_.backoff_limit.value_or(0), why);
  }
  return fmt::format("{}: {}", what, why);
}

// First the end is made known: pods that are gone could not tell it any more.
void JobRunner::be_finished() {
  stop_living();
  save();
  if (!status_writer_.settled()) return;
  const bool all = remembers_limit(status_);
  const Cleaning left = all ? everything(pods_) : after_the_end(pods_, job_.clean_pods);
  clean(left);
  remove_group();
  remove_after_its_time();
  if (left.pods.empty() && left.services.empty() && !pods_.group) shrink();
}

// Room is no longer kept for pods that are not to come.
void JobRunner::remove_group() {
  if (!pods_.group || pods_.group->going) return;
  writer_.remove(pod_groups(context_.cluster.gang_scheduler), pods_.group->name, pods_.group->uid);
}

// It may stay for weeks, with thousands of others.
void JobRunner::shrink() {
  shrunk_ = true;
  job_.replicas = {};
  job_.tensorboard.reset();
  status_.replicas = {};
  status_.controller.reset();
  status_writer_.forget();
}

void JobRunner::clean(const Cleaning& cleaning) {
  double next = std::numeric_limits<double>::infinity();
  for (const PodSeen* pod : cleaning.pods) {
    const double due = pod->gone_by + context_.times.stuck;
    const bool stuck = pod->is_going() && due <= context_.clock.wall();
    if (!pod->is_going() || stuck) writer_.remove(kPods, pod->name, pod->uid, stuck);
    if (pod->is_going() && !stuck) next = std::min(next, due);
  }
  wake(clean_timer_, next);
  for (const ServiceSeen* service : cleaning.services) {
    writer_.remove(kServices, service->name, service->uid);
  }
}

void JobRunner::remove_after_its_time() {
  const auto completed = parse_kube_time(status_.completed);
  if (!job_.ttl_seconds || !completed) return;
  const double due = *completed + double(*job_.ttl_seconds);
  if (due > context_.clock.wall()) return wake(ttl_timer_, due);
  writer_.remove(kTfJobs, {job_.space, job_.name}, job_.uid);
}

void JobRunner::wake(Loop::TimerId& timer, double wall) {
  context_.loop.cancel(timer);
  if (wall == std::numeric_limits<double>::infinity()) return;
  timer = context_.loop.at(deadline_of(context_.clock.loop_time(wall)), [this] { soon(); });
}

}  // namespace capstan::jobs::k8s
