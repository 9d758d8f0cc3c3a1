#include "jobs/k8s/pod_seen.h"

#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "jobs/k8s/job_pods.h"
#include "jobs/k8s/json_at.h"

namespace capstan::jobs::k8s {
namespace {

using Json = nlohmann::json;

std::string text(const Json& object, std::string_view key) { return text_at(object, key); }

double time(const Json& object, std::string_view key) {
  return parse_kube_time(text(object, key)).value_or(0);
}

std::optional<int> whole(const Json& value) {
  if (value.is_number_integer()) return value.get<int>();
  if (!value.is_string()) return std::nullopt;
  const auto& digits = value.get_ref<const std::string&>();
  int number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

PodPhase phase_of(const std::string& name) {
  if (name == "Running") return PodPhase::kRunning;
  if (name == "Succeeded") return PodPhase::kSucceeded;
  if (name == "Failed") return PodPhase::kFailed;
  return name == "Unknown" ? PodPhase::kUnknown : PodPhase::kPending;
}

std::optional<TaskId> task_of(const Json& labels) {
  const std::string type = text(labels, kTypeLabel);
  const std::optional<int> index = whole(at(labels, kIndexLabel));
  if (type.empty() || !index || *index < 0) return std::nullopt;
  return TaskId{type, *index};
}

const Json& controller_of(const Json& object) {
  static const Json kNone;
  const Json& owners = at(at(object, "metadata"), "ownerReferences");
  if (!owners.is_array()) return kNone;
  for (const Json& owner : owners) {
    if (at(owner, "controller") == true) return owner;
  }
  return kNone;
}

std::string reason_and_message(const Json& json) {
  const std::string reason = text(json, "reason"), message = text(json, "message");
  return message.empty() ? reason : fmt::format("{}: {}", reason, message);
}

void see_main_container(const Json& status, PodSeen& pod) {
  const Json& state = at(status, "state");
  pod.restarts = whole(at(status, "restartCount")).value_or(0);
  if (const Json& waiting = at(state, "waiting"); waiting.is_object()) {
    pod.waits = reason_and_message(waiting);
  }
  if (const Json& running = at(state, "running"); running.is_object()) {
    pod.started = time(running, "startedAt");
  }
  const Json& end = at(state, "terminated");
  if (!end.is_object()) return;
  pod.exit_code = whole(at(end, "exitCode")).value_or(0);
  pod.out_of_memory = text(end, "reason") == "OOMKilled";
  pod.started = time(end, "startedAt");
  pod.ended = time(end, "finishedAt");
}

void see_conditions(const Json& conditions, PodSeen& pod) {
  if (!conditions.is_array()) return;
  for (const Json& condition : conditions) {
    const bool holds = text(condition, "status") == "True";
    const std::string type = text(condition, "type");
    if (type == "Ready") pod.ready = holds;
    if (type == "DisruptionTarget" && holds) pod.disrupted = true;
    if (type == "PodScheduled" && !holds && pod.waits.empty()) {
      pod.waits = reason_and_message(condition);
    }
  }
}

void see_status(const Json& status, PodSeen& pod) {
  pod.phase = phase_of(text(status, "phase"));
  pod.reason = text(status, "reason");
  pod.disrupted = pod.reason == "Evicted" || pod.reason == "NodeLost" ||
                  pod.reason == "Preempting" || pod.reason == "NodeShutdown" ||
                  pod.reason == "Terminated" || pod.reason == "Shutdown";
  pod.started = time(status, "startTime");
  const Json& containers = at(status, "containerStatuses");
  if (containers.is_array()) {
    for (const Json& container : containers) {
      if (text(container, "name") == kMainContainer) see_main_container(container, pod);
    }
  }
  see_conditions(at(status, "conditions"), pod);
}

// With its own code, unless that says nothing of it.
int exit_code_of(const PodSeen& pod) {
  constexpr int kKilled = kExitSignalBase + SIGKILL;
  if (was_removed(pod)) return kKilled;
  if (pod.phase == PodPhase::kSucceeded) return pod.exit_code.value_or(0);
  if (!pod.exit_code) return kKilled;
  const bool says_nothing = pod.disrupted && *pod.exit_code < kExitSignalBase;
  // Another container failed, or the pod as such.
  const bool hides = *pod.exit_code == 0 && pod.phase == PodPhase::kFailed && !pod.reason.empty();
  return says_nothing || hides ? kKilled : *pod.exit_code;
}

TaskError error_of(const PodSeen& pod, double time) {
  if (was_removed(pod)) return {time, std::string(kLost), "its pod was removed"};
  if (pod.out_of_memory) {
    return {time, std::string(kOverMemory), "OOMKilled: over the memory limit of its container"};
  }
  return {time, "Unavailable", fmt::format("{}: its node had to let it go", pod.reason)};
}

}  // namespace

std::string controller_uid(const Json& object) { return text(controller_of(object), "uid"); }

std::string controller_name(const Json& object) {
  const Json& owner = controller_of(object);
  if (!owner.is_object()) return "nobody";
  return fmt::format("{} {}", text(owner, "kind"), text(owner, "name"));
}

PodSeen see_pod(const Json& json) {
  const Json& metadata = at(json, "metadata");
  PodSeen pod;
  pod.name = {text(metadata, "namespace"), text(metadata, "name")};
  pod.uid = text(metadata, "uid");
  pod.owner = controller_uid(json);
  pod.task = task_of(at(metadata, "labels"));
  pod.attempt = whole(at(at(metadata, "annotations"), kAttemptAnnotation)).value_or(1);
  pod.created = time(metadata, "creationTimestamp");
  pod.gone_by = time(metadata, "deletionTimestamp");
  pod.deleted = pod.gone_by;
  if (pod.gone_by > 0) {
    pod.deleted -= whole(at(metadata, "deletionGracePeriodSeconds")).value_or(0);
  }
  const std::string policy = text(at(json, "spec"), "restartPolicy");
  pod.comes_back_from_success = policy == "Always" || policy.empty();
  pod.comes_back_from_failure = pod.comes_back_from_success || policy == "OnFailure";
  see_status(at(json, "status"), pod);
  return pod;
}

ServiceSeen see_service(const Json& json) {
  const Json& metadata = at(json, "metadata");
  return {.name = {text(metadata, "namespace"), text(metadata, "name")},
          .uid = text(metadata, "uid"),
          .owner = controller_uid(json),
          .task = task_of(at(metadata, "labels"))};
}

GroupSeen see_group(const Json& json) {
  const Json& metadata = at(json, "metadata");
  GroupSeen group{.name = {text(metadata, "namespace"), text(metadata, "name")},
                  .uid = text(metadata, "uid"),
                  .owner = controller_uid(json),
                  .phase = text(at(json, "status"), "phase"),
                  .going = metadata.contains("deletionTimestamp"),
                  .spec = std::make_shared<const Json>(at(json, "spec"))};
  for (const Json& condition : list_at(at(json, "status"), "conditions")) {
    const bool waits = text(condition, "type") == "Unschedulable";
    if (waits && text(condition, "status") == "True") group.waits = text(condition, "message");
  }
  return group;
}

bool has_ended(const PodSeen& pod) {
  if (pod.finished()) return true;
  if (!pod.exit_code || pod.phase != PodPhase::kRunning) return false;
  return *pod.exit_code == 0 ? !pod.comes_back_from_success : !pod.comes_back_from_failure;
}

bool was_removed(const PodSeen& pod) {
  if (!pod.is_going()) return false;
  // Times are whole seconds: of one that ended well in the same one we believe that.
  const bool same = pod.ended == pod.deleted && (pod.exit_code != 0 || pod.disrupted);
  return pod.ended == 0 || pod.ended > pod.deleted || same;
}

TaskStatus task_status(const PodSeen& pod, const KubeClock& clock) {
  TaskStatus status{.task = pod.task.value_or(TaskId()), .attempt = pod.attempt};
  status.ended = has_ended(pod);
  status.host = pod.name.name;
  status.pending = pod.phase == PodPhase::kPending;
  status.restarts = pod.restarts;
  status.started_at = clock.loop_time(pod.started > 0 ? pod.started : pod.created);
  if (!status.ended) return status;
  status.ended_at = pod.ended > 0 ? clock.loop_time(pod.ended) : clock.loop();
  status.exit_code = exit_code_of(pod);
  status.signal = std::max(0, status.exit_code - kExitSignalBase);
  const bool excused = was_removed(pod) || pod.out_of_memory || pod.disrupted;
  if (status.exit_code != 0 && excused) status.told.error = error_of(pod, status.ended_at);
  return status;
}

}  // namespace capstan::jobs::k8s
