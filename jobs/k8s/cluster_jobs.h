#pragma once

// What commands do to the TFJobs of a cluster. Everything throws the Error of the server, which
// names verb, resource, and the right that is missing.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "jobs/k8s/cluster_client.h"
#include "jobs/k8s/tf_job.h"
#include "jobs/k8s/tf_job_status.h"

namespace capstan::jobs::k8s {

// As the server has it; what it finds odd in a job of others is not held against anybody.
TfJob seen_tf_job(const nlohmann::json& object);
TfJobStatus seen_status(const nlohmann::json& object);
// "Running"; "Deleting" of one that is on its way out, "Pending" while no operator has seen it.
std::string state_of(const nlohmann::json& object);

// The resource of "kubeflow.org/v1beta1" and so on; v1 for what is no version of ours.
Resource tf_jobs_of(std::string_view api_version);

struct Applied {
  enum class What { kCreated, kChanged, kUnchanged } what = What::kCreated;
  nlohmann::json object;             // as it is now
  std::vector<std::string> changes;  // "spec.tfReplicaSpecs.Worker.replicas: 2 -> 4"
  std::vector<FieldError> errors;    // fields that must not change; then nothing was done
};

// Makes the job, or gives the fields that `object` names their values; those that it does not name
// stay as they are, whoever set them. `space` counts where the object names no namespace.
Applied apply_job(ClusterClient& client, const nlohmann::json& object, const std::string& space,
                  bool dry_run);

// {{"Worker", 4}}: any case. Returns what was changed: "Worker: 2 -> 4". Throws InvalidArgument for
// a type that the job does not have, FailedPrecondition for a job that has ended.
std::vector<std::string> scale_job(ClusterClient& client, const nlohmann::json& job,
                                   const std::vector<std::pair<std::string, int>>& replicas);

// Returns whether it was not so before. Throws FailedPrecondition for a job that has ended.
bool suspend_job(ClusterClient& client, const nlohmann::json& job, bool suspend);

// Asks for the deletion of this very job and whatever belongs to it.
void delete_job(ClusterClient& client, const nlohmann::json& job);

// Pods of its replicas in the order of types and indices, TensorBoard's left out.
std::vector<nlohmann::json> replica_pods(ClusterClient& client, const nlohmann::json& job);
std::string replica_selector(const std::string& job_name);

}  // namespace capstan::jobs::k8s
