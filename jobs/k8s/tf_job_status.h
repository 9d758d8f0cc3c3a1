#pragma once

// The status of a TFJob: its conditions, and how the replicas of each type stand. Pure functions
// from the old status and what is known now. Conditions follow upstream's rules, but for one: a job
// has one terminal condition, which stays.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/k8s/tf_job.h"
#include "jobs/report.h"

namespace capstan::jobs::k8s {

enum class JobPhase { kCreated, kRunning, kRestarting, kSuspended, kSucceeded, kFailed };
std::string_view phase_name(JobPhase phase);    // "Created": the type of its condition
std::string_view phase_reason(JobPhase phase);  // "TFJobCreated"

struct Condition {
  std::string type;
  bool is = true;  // status "True" or "False"
  std::string reason, message;
  std::string updated, changed;  // lastUpdateTime, lastTransitionTime
};

struct ReplicaStatus {
  ReplicaType type = ReplicaType::kWorker;
  int active = 0, succeeded = 0, failed = 0, pending = 0;
  int64_t restarts = 0;
  std::vector<int> finished;  // which have ended well, in order
  std::string selector;
};

struct TfJobStatus {
  std::vector<Condition> conditions;
  std::vector<ReplicaStatus> replicas;        // in the order of kReplicaTypes
  std::string started, completed, looked_at;  // times; empty: not yet
  JsonRef controller;                         // what the operator remembers; may be null

  const Condition* condition(JobPhase phase) const;
  bool is(JobPhase phase) const;
  bool ended() const { return is(JobPhase::kSucceeded) || is(JobPhase::kFailed); }
  const ReplicaStatus* replica(ReplicaType type) const;
  // The type of the last condition, as `kubectl get` shows it; empty: none yet.
  std::string state() const;
};

// Forgiving: what cannot be read is left out.
TfJobStatus read_status(const nlohmann::json& status);
nlohmann::json to_json(const TfJobStatus& status);

// The job has come to a phase: adds or changes conditions by the rules, and the times that belong
// to it. Nothing changes after the end. An empty reason is the phase's own. Returns whether
// anything did.
bool enter(TfJobStatus& status, JobPhase phase, std::string message, double now,
           std::string reason = {});
// After suspension: Suspended turns false, and the job begins anew.
bool resume(TfJobStatus& status, std::string message, double now);

// What is to be said of a phase: "job default/mnist runs".
std::string phase_message(const TfJob& job, JobPhase phase);

// Counts the replicas from what a controller remembers. `is_pending` says of a task that was
// started whether it does not run yet; none: all do.
std::vector<ReplicaStatus> count_replicas(
    const TfJob& job, const JobState& state,
    const std::function<bool(const TaskId& task)>& is_pending = {});

// A job that has succeeded was cleaned: what ran until then counts as succeeded.
void count_cleaned(TfJobStatus& status);

// What follows from counts alone, as upstream decides it: how the job ends, or that it runs.
struct Counted {
  bool first_worker_succeeded = false;
  bool restarting = false;  // a failed replica is being replaced, and counts nowhere
};
std::optional<JobPhase> phase_of(const TfJob& job, const std::vector<ReplicaStatus>& replicas,
                                 const Counted& counted = {});

}  // namespace capstan::jobs::k8s
