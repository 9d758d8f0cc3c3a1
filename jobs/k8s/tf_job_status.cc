#include "jobs/k8s/tf_job_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/kube_time.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

struct PhaseWords {
  std::string_view type, reason, does;
};
constexpr std::array<PhaseWords, 6> kPhases = {{
    {"Created", "TFJobCreated", "is created"},
    {"Running", "TFJobRunning", "runs"},
    {"Restarting", "TFJobRestarting", "is restarting: a replica failed and is tried again"},
    {"Suspended", "TFJobSuspended", "is suspended"},
    {"Succeeded", "TFJobSucceeded", "has succeeded"},
    {"Failed", "TFJobFailed", "has failed"},
}};
constexpr std::string_view kResumed = "TFJobResumed";

Condition condition_of(const json& object) {
  return {.type = text_at(object, "type"),
          .is = text_at(object, "status") == "True",
          .reason = text_at(object, "reason"),
          .message = text_at(object, "message"),
          .updated = text_at(object, "lastUpdateTime"),
          .changed = text_at(object, "lastTransitionTime")};
}

int count_at(const json& object, std::string_view name) {
  return int(std::clamp<int64_t>(whole_at(object, name).value_or(0), 0, 1'000'000));
}

ReplicaStatus replica_of(ReplicaType type, const json& object) {
  ReplicaStatus out{.type = type};
  out.active = count_at(object, "active");
  out.succeeded = count_at(object, "succeeded");
  out.failed = count_at(object, "failed");
  out.pending = count_at(object, "pending");
  out.restarts = std::max<int64_t>(0, whole_at(object, "restartCount").value_or(0));
  out.selector = text_at(object, "selector");
  for (const json& index : list_at(object, "finished")) {
    if (index.is_number_integer()) out.finished.push_back(int(index.get<int64_t>()));
  }
  return out;
}

json condition_json(const Condition& one) {
  json out = {{"type", one.type},
              {"status", one.is ? "True" : "False"},
              {"reason", one.reason},
              {"message", one.message}};
  // Another operator may have left them out; an empty one is no time, and the server refuses it.
  if (!one.updated.empty()) out["lastUpdateTime"] = one.updated;
  if (!one.changed.empty()) out["lastTransitionTime"] = one.changed;
  return out;
}

// As upstream does, a number that is none is left out.
json replica_json(const ReplicaStatus& one) {
  json out = json::object();
  auto add = [&](const char* name, int64_t count) {
    if (count > 0) out[name] = count;
  };
  add("active", one.active);
  add("succeeded", one.succeeded);
  add("failed", one.failed);
  add("pending", one.pending);
  add("restartCount", one.restarts);
  if (!one.finished.empty()) out["finished"] = one.finished;
  if (!one.selector.empty()) out["selector"] = one.selector;
  return out;
}

Condition* find(TfJobStatus& status, std::string_view type) {
  auto found = std::ranges::find(status.conditions, type, &Condition::type);
  return found == status.conditions.end() ? nullptr : &*found;
}

// The same type, status and reason is no change. What changes goes to the end.
bool set(TfJobStatus& status, Condition next) {
  Condition* old = find(status, next.type);
  if (old && old->is == next.is && old->reason == next.reason) return false;
  if (old && old->is == next.is) next.changed = old->changed;
  std::erase_if(status.conditions, [&](const Condition& one) { return one.type == next.type; });
  status.conditions.push_back(std::move(next));
  return true;
}

void drop(TfJobStatus& status, JobPhase phase) {
  std::erase_if(status.conditions,
                [&](const Condition& one) { return one.type == phase_name(phase); });
}

// It stays where it is in the list.
void turn_false(TfJobStatus& status, JobPhase phase, const std::string& now,
                std::string_view reason = {}) {
  Condition* old = find(status, phase_name(phase));
  if (!old || !old->is) return;
  old->is = false;
  old->updated = old->changed = now;
  if (!reason.empty()) old->reason = reason;
}

void make_room_for(TfJobStatus& status, JobPhase phase, const std::string& now) {
  if (phase == JobPhase::kRunning) drop(status, JobPhase::kRestarting);
  if (phase == JobPhase::kRestarting) drop(status, JobPhase::kRunning);
  if (phase == JobPhase::kSucceeded || phase == JobPhase::kFailed) {
    turn_false(status, JobPhase::kRunning, now);
    turn_false(status, JobPhase::kRestarting, now);
  }
  if (phase == JobPhase::kSuspended) {
    turn_false(status, JobPhase::kRunning, now, phase_reason(phase));
    drop(status, JobPhase::kRestarting);
  }
}

bool has_trained(const TfJob& job, const std::vector<ReplicaStatus>& replicas,
                 const Counted& counted) {
  auto of = [&](ReplicaType type) {
    auto found = std::ranges::find(replicas, type, &ReplicaStatus::type);
    return found == replicas.end() ? 0 : found->succeeded;
  };
  if (const ReplicaSpec* chief = job.chief(); chief && chief->replicas > 0) {
    return of(chief->type) >= chief->replicas;
  }
  const ReplicaSpec* workers = job.replica(ReplicaType::kWorker);
  if (!workers || workers->replicas == 0) return false;
  const bool all = of(ReplicaType::kWorker) >= workers->replicas;
  return all || (job.success_policy != "AllWorkers" && counted.first_worker_succeeded);
}

}  // namespace

std::string_view phase_name(JobPhase phase) { return kPhases[size_t(phase)].type; }
std::string_view phase_reason(JobPhase phase) { return kPhases[size_t(phase)].reason; }

std::string phase_message(const TfJob& job, JobPhase phase) {
  return fmt::format("job {}/{} {}", job.space, job.name, kPhases[size_t(phase)].does);
}

const Condition* TfJobStatus::condition(JobPhase phase) const {
  auto found = std::ranges::find(conditions, phase_name(phase), &Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

bool TfJobStatus::is(JobPhase phase) const {
  const Condition* one = condition(phase);
  return one && one->is;
}

const ReplicaStatus* TfJobStatus::replica(ReplicaType type) const {
  auto found = std::ranges::find(replicas, type, &ReplicaStatus::type);
  return found == replicas.end() ? nullptr : &*found;
}

std::string TfJobStatus::state() const { return conditions.empty() ? "" : conditions.back().type; }

TfJobStatus read_status(const json& object) {
  TfJobStatus status;
  for (const json& one : list_at(object, "conditions")) {
    if (one.is_object()) status.conditions.push_back(condition_of(one));
  }
  const json& replicas = at(object, "replicaStatuses");
  for (ReplicaType type : kReplicaTypes) {
    const json& one = at(replicas, type_name(type));
    if (one.is_object()) status.replicas.push_back(replica_of(type, one));
  }
  status.started = text_at(object, "startTime");
  status.completed = text_at(object, "completionTime");
  status.looked_at = text_at(object, "lastReconcileTime");
  if (at(object, "controller").is_object()) {
    status.controller = std::make_shared<const json>(at(object, "controller"));
  }
  return status;
}

json to_json(const TfJobStatus& status) {
  json out = {{"conditions", json::array()}, {"replicaStatuses", json::object()}};
  for (const Condition& one : status.conditions) out["conditions"].push_back(condition_json(one));
  for (const ReplicaStatus& one : status.replicas) {
    out["replicaStatuses"][std::string(type_name(one.type))] = replica_json(one);
  }
  auto add = [&](const char* name, const std::string& time) {
    if (!time.empty()) out[name] = time;
  };
  add("startTime", status.started);
  add("completionTime", status.completed);
  add("lastReconcileTime", status.looked_at);
  if (status.controller) out["controller"] = *status.controller;
  return out;
}

bool enter(TfJobStatus& status, JobPhase phase, std::string message, double now,
           std::string reason) {
  if (status.ended()) return false;
  const std::string time = kube_time(now);
  if (reason.empty()) reason = phase_reason(phase);
  const bool changed = set(status, {.type = std::string(phase_name(phase)),
                                    .is = true,
                                    .reason = std::move(reason),
                                    .message = std::move(message),
                                    .updated = time,
                                    .changed = time});
  if (!changed) return false;
  make_room_for(status, phase, time);
  if (status.ended() && status.completed.empty()) status.completed = time;
  return true;
}

bool resume(TfJobStatus& status, std::string message, double now) {
  if (status.ended() || !status.is(JobPhase::kSuspended)) return false;
  const std::string time = kube_time(now);
  set(status, {.type = std::string(phase_name(JobPhase::kSuspended)),
               .is = false,
               .reason = std::string(kResumed),
               .message = std::move(message),
               .updated = time,
               .changed = time});
  status.started = time;
  return true;
}

std::vector<ReplicaStatus> count_replicas(const TfJob& job, const JobState& state,
                                          const std::function<bool(const TaskId&)>& is_pending) {
  std::vector<ReplicaStatus> out;
  for (const ReplicaSpec& replica : job.replicas) {
    ReplicaStatus one{.type = replica.type, .selector = selector_of(job, replica.type)};
    for (const TaskReport& task : state.tasks) {
      if (task.task.job != task_name(replica.type)) continue;
      const bool pending =
          task.state == TaskState::kWaiting ||
          (task.state == TaskState::kRunning && is_pending && is_pending(task.task));
      one.pending += pending;
      one.active += task.state == TaskState::kRunning && !pending;
      one.succeeded += task.state == TaskState::kSucceeded;
      one.failed += task.state == TaskState::kFailed;
      one.restarts += task.restarts + task.in_place;
      if (task.success()) one.finished.push_back(task.task.index);
    }
    std::ranges::sort(one.finished);
    out.push_back(std::move(one));
  }
  return out;
}

void count_cleaned(TfJobStatus& status) {
  for (ReplicaStatus& one : status.replicas) {
    one.succeeded += std::exchange(one.active, 0);
    one.pending = 0;
  }
}

std::optional<JobPhase> phase_of(const TfJob& job, const std::vector<ReplicaStatus>& replicas,
                                 const Counted& counted) {
  if (has_trained(job, replicas, counted)) return JobPhase::kSucceeded;
  const ReplicaSpec* chief = job.chief();
  const ReplicaType lead = chief ? chief->type : ReplicaType::kWorker;
  bool runs = false;
  for (const ReplicaStatus& one : replicas) {
    const bool tolerated = job.dynamic_workers && one.type == ReplicaType::kWorker;
    if (one.failed > 0 && !tolerated) return JobPhase::kFailed;
    runs |= one.type == lead && one.active > 0;
  }
  if (counted.restarting) return JobPhase::kRestarting;
  return runs ? std::optional(JobPhase::kRunning) : std::nullopt;
}

}  // namespace capstan::jobs::k8s
