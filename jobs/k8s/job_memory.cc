#include "jobs/k8s/job_memory.h"

#include <algorithm>

#include "jobs/k8s/json_at.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

std::vector<TaskReport> fresh_tasks(const TfJob& job) {
  std::vector<TaskReport> tasks;
  for (const TaskId& task : tasks_of(job_spec(job))) tasks.push_back({.task = task});
  return tasks;
}

int number_of(const json& map, const TaskId& task, int least) {
  return int(std::clamp<int64_t>(whole_at(map, task.name()).value_or(least), least, 1'000'000));
}

bool has_finished(const TfJobStatus& status, const TaskId& task) {
  const auto type = replica_type(task.job);
  const ReplicaStatus* replicas = type ? status.replica(*type) : nullptr;
  return replicas && std::ranges::find(replicas->finished, task.index) != replicas->finished.end();
}

}  // namespace

JobState remembered_state(const TfJob& job, const TfJobStatus& status, const KubeClock& clock) {
  JobState state{.tasks = fresh_tasks(job)};
  if (const auto start = parse_kube_time(status.started)) state.started = clock.loop_time(*start);
  const json none;
  const json& memory = status.controller ? *status.controller : none;
  for (TaskReport& task : state.tasks) {
    task.attempt = number_of(at(memory, "attempts"), task.task, 1);
    task.restarts = number_of(at(memory, "restarts"), task.task, 0);
    state.restarts += task.restarts;
    const bool failed = !at(memory, "failed", task.task.name()).is_null();
    if (failed) task.failed_at = state.started;
    if (failed) task.state = TaskState::kFailed;
    if (has_finished(status, task.task)) task.state = TaskState::kSucceeded;
    if (task.done()) task.ended = state.started;
  }
  return state;
}

JobState resized_state(const TfJob& job, JobState before) {
  std::vector<TaskReport> tasks = fresh_tasks(job);
  for (TaskReport& task : tasks) {
    auto found = std::ranges::find(before.tasks, task.task, &TaskReport::task);
    if (found != before.tasks.end()) task = std::move(*found);
  }
  before.tasks = std::move(tasks);
  return before;
}

JsonRef memory_of(const JobState& state) {
  json memory = json::object();
  for (const TaskReport& task : state.tasks) {
    const std::string name = task.task.name();
    if (task.attempt > 1) memory["attempts"][name] = task.attempt;
    if (task.restarts > 0) memory["restarts"][name] = task.restarts;
    if (task.state == TaskState::kFailed) memory["failed"][name] = task.exit_code;
  }
  if (state.stop && state.stop->limit) memory["limit"] = true;
  return memory.empty() ? nullptr : std::make_shared<const json>(std::move(memory));
}

bool remembers_limit(const TfJobStatus& status) {
  return status.controller && flag_at(*status.controller, "limit", false);
}

}  // namespace capstan::jobs::k8s
