#pragma once

// A TFJob as Kubeflow's API has it (v1 with runPolicy or the older top-level fields, v1beta2,
// v1beta1), read, checked and filled with its defaults. The pod templates stay JSON: whatever
// Kubernetes knows of pods is handed through. job_objects.h makes pods and services of it,
// tf_job_status.h its status; fields.h says which fields there are.

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_spec.h"

namespace capstan::jobs::k8s {

using JsonRef = std::shared_ptr<const nlohmann::json>;

// In the order in which status and pods are made.
enum class ReplicaType { kChief, kEvaluator, kMaster, kPs, kWorker };
inline constexpr ReplicaType kReplicaTypes[] = {ReplicaType::kChief, ReplicaType::kEvaluator,
                                                ReplicaType::kMaster, ReplicaType::kPs,
                                                ReplicaType::kWorker};
std::string_view type_name(ReplicaType type);  // "PS"
std::string_view task_name(ReplicaType type);  // "ps": in names, labels and TF_CONFIG
std::optional<ReplicaType> replica_type(std::string_view any_case);  // of "PS", "Ps", "ps"

enum class ReplicaRestart { kNever, kOnFailure, kAlways, kExitCode };
enum class CleanPods { kRunning, kAll, kNone, kPs };
enum class RestartScope { kReplica, kJob };
std::string_view restart_name(ReplicaRestart restart);  // "OnFailure"
std::string_view clean_pods_name(CleanPods clean);      // "Running"

struct ReplicaSpec {
  ReplicaType type = ReplicaType::kWorker;
  int replicas = 1;
  ReplicaRestart restart = ReplicaRestart::kNever;
  JsonRef template_json;         // PodTemplateSpec, with the port that defaulting adds
  int port = 2222;               // of `tfjob-port` in the container `tensorflow`
  std::string template_restart;  // restartPolicy of the template, which does not count
};

struct TensorBoardSpec {
  std::string log_dir;
  std::string image;  // empty: that of the chief
  std::string service_type = "ClusterIP";
  JsonRef volumes, volume_mounts;  // lists; may be null
};

struct TfJob {
  std::string name, space, uid, api_version;
  int64_t generation = 0;
  std::string resource_version;
  bool being_deleted = false;
  std::vector<ReplicaSpec> replicas;  // in the order of kReplicaTypes; those that are there
  CleanPods clean_pods = CleanPods::kRunning;
  std::optional<int64_t> ttl_seconds, deadline_seconds, backoff_limit, pending_timeout_seconds;
  bool suspend = false;
  bool dynamic_workers = false;
  int min_workers = 0;         // fewer end a job of dynamic workers
  std::string managed_by;      // empty: by whoever sees it
  std::string success_policy;  // "", "AllWorkers", "ChiefOnly", "50%"
  bool wait_for_evaluator = false;
  RestartScope restart_scope = RestartScope::kReplica;
  bool bare_names = false;  // TF_CONFIG has no namespace, as v1beta1's first operators wrote it
  bool evaluator_in_cluster = true;
  bool network_policy = false;
  std::optional<TensorBoardSpec> tensorboard;
  JsonRef scheduling_policy;
  JsonRef status;  // as the server has it; may be null

  const ReplicaSpec* replica(ReplicaType type) const;
  // The chief or master where there is one.
  const ReplicaSpec* chief() const;
  int total_replicas() const;
};

// Of somebody else's field managedBy: the job is to be left alone.
bool is_ours(const TfJob& job);

// What is wrong, and where: "spec.tfReplicaSpecs[Worker].template.spec.containers".
struct FieldError {
  std::string path;
  std::string kind;     // Required, Invalid, Forbidden, NotSupported, Unknown
  std::string message;  // one sentence, with the nearest valid word where there is one

  // "spec.successPolicy: NotSupported: …"
  std::string text() const;
};

// Fills `errors` with everything that is wrong; what is returned is of use only if that is empty.
// Unknown fields are errors only where `strict` (the API server prunes them before we see them).
TfJob read_tf_job(const nlohmann::json& object, bool strict, std::vector<FieldError>& errors);

// The fields that must stay as they are between two versions of a job.
std::vector<FieldError> check_update(const TfJob& before, const TfJob& after);

// What is well-formed, and likely not what its author wants. `reason` is that of the event.
struct JobWarning {
  std::string reason;   // "SetPodTemplateRestartPolicy"
  std::string path;     // of the field
  std::string message;  // with the remedy
};
std::vector<JobWarning> warnings_of(const TfJob& job);

// The object as it was given with every default written out, for people.
nlohmann::json with_defaults(const TfJob& job);

// Byte for byte what upstream writes, with the options of the job. The domain is what the operator
// was told of the cluster ("cluster.local"); empty: none.
std::string tf_config(const TfJob& job, ReplicaType type, int index,
                      std::string_view cluster_domain = {});

// The same with other addresses than those of services: of local processes.
using AddressOf = std::function<std::string(ReplicaType type, int index)>;
std::string tf_config(const TfJob& job, ReplicaType type, int index, const AddressOf& address);

// The rules of the job, for a JobController. What differs between its tasks (restarts) is in
// `adjust`.
JobSpec job_spec(const TfJob& job);

}  // namespace capstan::jobs::k8s
