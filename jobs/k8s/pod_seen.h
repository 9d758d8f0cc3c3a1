#pragma once

// What of a pod matters to its job, in few bytes: there may be thousands.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "jobs/k8s/kube_api.h"
#include "jobs/k8s/operator_context.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// Times are seconds since 1970; 0: none.
struct PodSeen {
  ObjectName name;
  std::string uid;
  std::string owner;           // uid of its controller
  std::optional<TaskId> task;  // none: no replica
  int attempt = 1;
  PodPhase phase = PodPhase::kPending;
  bool comes_back_from_success = false, comes_back_from_failure = false;  // its own restart policy
  bool ready = false;
  bool disrupted = false;  // evicted, preempted, its node is going
  std::string reason;      // of the pod: Evicted
  double created = 0, started = 0, ended = 0;
  double deleted = 0;            // when somebody asked for that
  double gone_by = 0;            // when its grace ends
  std::optional<int> exit_code;  // of the main container, if it has ended
  bool out_of_memory = false;
  int restarts = 0;   // of the main container, by the kubelet
  std::string waits;  // "Unschedulable: 0/3 nodes are available", "ErrImagePull: …"

  bool is_going() const { return deleted > 0; }
  bool finished() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
};

PodSeen see_pod(const nlohmann::json& pod);

// The main container will not run again in this pod; others may.
bool has_ended(const PodSeen& pod);
// Somebody removed it before it ended by itself.
bool was_removed(const PodSeen& pod);
TaskStatus task_status(const PodSeen& pod, const KubeClock& clock);

// The uid of the object's controller, and what to call it: "TFJob other".
std::string controller_uid(const nlohmann::json& object);
std::string controller_name(const nlohmann::json& object);

}  // namespace capstan::jobs::k8s
