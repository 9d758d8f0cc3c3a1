#pragma once

// The Kubernetes objects that a TFJob is made of: pods, services, its secret, TensorBoard, and
// where asked for a PodGroup and a NetworkPolicy. Pure functions: the same job gives the same
// objects.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "jobs/k8s/tf_job.h"

namespace capstan::jobs::k8s {

inline constexpr std::string_view kOperatorLabel = "training.kubeflow.org/operator-name";
inline constexpr std::string_view kOperatorName = "tfjob-controller";
inline constexpr std::string_view kJobLabel = "training.kubeflow.org/job-name";
inline constexpr std::string_view kTypeLabel = "training.kubeflow.org/replica-type";
inline constexpr std::string_view kIndexLabel = "training.kubeflow.org/replica-index";
inline constexpr std::string_view kRoleLabel = "training.kubeflow.org/job-role";
// On TensorBoard's pod and service, which carry no replica type.
inline constexpr std::string_view kComponentLabel = "app.kubernetes.io/component";
// On pods: which attempt at its task this is, from 1.
inline constexpr std::string_view kAttemptAnnotation = "capstan/attempt";
inline constexpr std::string_view kMainContainer = "tensorflow";
inline constexpr std::string_view kPortName = "tfjob-port";
inline constexpr int kDefaultPort = 2222;
// In the job's Secret, and below kSecretFolder in its pods (CAPSTAN_SECRET_FILE).
inline constexpr std::string_view kSecretKey = "secret";
inline constexpr std::string_view kSecretFolder = "/var/run/capstan/job";

// What the operator was told, the same for all jobs.
struct ClusterOptions {
  bool take_over = false;  // jobs that another operator has begun: it is gone
  std::string domain;      // appended to service names in TF_CONFIG: "cluster.local"; empty: none
  std::string gang_scheduler;  // "volcano", else one of scheduler-plugins; empty: none
};

// "{job}-{type}-{index}": of the pod and of its service.
std::string replica_name(const TfJob& job, ReplicaType type, int index);
std::string secret_name(const TfJob& job);
std::string tensorboard_name(const TfJob& job);
std::string network_policy_name(const TfJob& job);

// "training.kubeflow.org/operator-name=tfjob-controller" and so on, joined by commas; of every
// replica, or of those of one type.
std::string selector_of(const TfJob& job);
std::string selector_of(const TfJob& job, ReplicaType type);

// The pod and the headless service of one replica, complete: names, labels, owner, port, TF_CONFIG,
// the job's secret as a volume.
nlohmann::json pod_of(const TfJob& job, const ReplicaSpec& replica, int index, int attempt,
                      const ClusterOptions& options = {});
nlohmann::json service_of(const TfJob& job, const ReplicaSpec& replica, int index);

// `secret` as text that only the job's pods read.
nlohmann::json secret_of(const TfJob& job, std::string_view secret);

// Only for a job with `tensorboard`.
nlohmann::json tensorboard_pod_of(const TfJob& job);
nlohmann::json tensorboard_service_of(const TfJob& job);

// Only with a gang scheduler: volcano's kind, or that of scheduler-plugins.
nlohmann::json pod_group_of(const TfJob& job, const ClusterOptions& options);
// A pod of the group waits until all can be placed: volcano's are made only then. The phase is the
// group's own.
bool waits_for_pod_group(std::string_view phase, const ClusterOptions& options);
// Templates that name a scheduler which knows nothing of the group.
std::vector<JobWarning> gang_warnings(const TfJob& job, const ClusterOptions& options);

// Lets only pods of this job reach each other's ports, and anybody TensorBoard's.
nlohmann::json network_policy_of(const TfJob& job);

}  // namespace capstan::jobs::k8s
