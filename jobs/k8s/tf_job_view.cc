// A TFJob shown to people: with its defaults, and with what its author may not have meant.

#include <fmt/format.h>

#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/tf_job.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

std::string replica_path(const ReplicaSpec& replica) {
  return fmt::format("spec.tfReplicaSpecs[{}]", type_name(replica.type));
}

JobWarning template_restart(const ReplicaSpec& replica) {
  const std::string path = replica_path(replica);
  return {
      "SetPodTemplateRestartPolicy", path + ".template.spec.restartPolicy",
      fmt::format("restartPolicy {} within the pod template of {} does not count; the one beside "
                  "the template does, and that is {}. To have it, move the line there: "
                  "{}.restartPolicy: {}",
                  replica.template_restart, type_name(replica.type), restart_name(replica.restart),
                  path, replica.template_restart)};
}

void warn_of_own_tf_config(const ReplicaSpec& replica, std::vector<JobWarning>& warnings) {
  size_t i = 0;
  for (const json& container : list_at(at(*replica.template_json, "spec"), "containers")) {
    for (const json& variable : list_at(container, "env")) {
      if (text_at(variable, "name") != "TF_CONFIG") continue;
      if (text_at(container, "name") != kMainContainer) continue;
      warnings.push_back(
          {"TFConfigReplaced",
           fmt::format("{}.template.spec.containers[{}].env", replica_path(replica), i),
           "TF_CONFIG is set here, and the job's own comes after it and counts; "
           "remove this one"});
    }
    ++i;
  }
}

json limits_json(const TfJob& job) {
  json policy = {{"cleanPodPolicy", clean_pods_name(job.clean_pods)}, {"suspend", job.suspend}};
  auto add = [&](const char* name, const std::optional<int64_t>& value) {
    if (value) policy[name] = *value;
  };
  add("ttlSecondsAfterFinished", job.ttl_seconds);
  add("activeDeadlineSeconds", job.deadline_seconds);
  add("backoffLimit", job.backoff_limit);
  add("pendingTimeoutSeconds", job.pending_timeout_seconds);
  if (!job.managed_by.empty()) policy["managedBy"] = job.managed_by;
  if (job.scheduling_policy) policy["schedulingPolicy"] = *job.scheduling_policy;
  policy["restartScope"] = job.restart_scope == RestartScope::kJob ? "Job" : "Replica";
  if (job.dynamic_workers) policy["minWorkers"] = job.min_workers;
  policy["waitForEvaluator"] = job.wait_for_evaluator;
  policy["networkPolicy"] = job.network_policy;
  return policy;
}

json tensorboard_json(const TensorBoardSpec& board) {
  json out = {{"logDir", board.log_dir}, {"serviceType", board.service_type}};
  if (!board.image.empty()) out["image"] = board.image;
  if (board.volumes) out["volumes"] = *board.volumes;
  if (board.volume_mounts) out["volumeMounts"] = *board.volume_mounts;
  return out;
}

}  // namespace

std::vector<JobWarning> warnings_of(const TfJob& job) {
  std::vector<JobWarning> warnings;
  for (const ReplicaSpec& replica : job.replicas) {
    if (!replica.template_restart.empty()) warnings.push_back(template_restart(replica));
    warn_of_own_tf_config(replica, warnings);
  }
  const bool trains = job.chief() || job.replica(ReplicaType::kWorker);
  if (!trains && !job.replicas.empty()) {
    warnings.push_back({"NeverSucceeds", "spec.tfReplicaSpecs",
                        "there is neither a Chief, a Master nor a Worker: the job never succeeds; "
                        "it runs until it is removed or its deadline comes"});
  }
  return warnings;
}

json with_defaults(const TfJob& job) {
  json spec = {{"runPolicy", limits_json(job)},
               {"successPolicy", job.success_policy},
               {"enableDynamicWorker", job.dynamic_workers},
               {"tfConfig",
                {{"hostNames", job.bare_names ? "Bare" : "Qualified"},
                 {"evaluatorInCluster", job.evaluator_in_cluster}}}};
  for (const ReplicaSpec& replica : job.replicas) {
    spec["tfReplicaSpecs"][std::string(type_name(replica.type))] = {
        {"replicas", replica.replicas},
        {"restartPolicy", restart_name(replica.restart)},
        {"template", *replica.template_json}};
  }
  if (job.tensorboard) spec["tensorboard"] = tensorboard_json(*job.tensorboard);
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "TFJob"},
          {"metadata", {{"name", job.name}, {"namespace", job.space}}},
          {"spec", std::move(spec)}};
}

}  // namespace capstan::jobs::k8s
