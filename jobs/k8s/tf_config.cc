// TF_CONFIG, byte for byte as Kubeflow's operator writes it: keys in this order, no spaces.

#include <fmt/format.h>

#include "jobs/json_text.h"
#include "jobs/k8s/job_objects.h"

namespace capstan::jobs::k8s {
namespace {

std::string task_json(ReplicaType type, int index) {
  return JsonObject().add("type", task_name(type)).add("index", index).text();
}

std::string addresses_json(const TfJob& job, ReplicaType type, const AddressOf& address) {
  std::vector<std::string> all;
  const ReplicaSpec* replica = job.replica(type);
  for (int i = 0; replica && i < replica->replicas; ++i) all.push_back(address(type, i));
  return json_strings(all);
}

std::string whole_cluster(const TfJob& job, const AddressOf& address) {
  JsonObject cluster;
  for (const ReplicaSpec& replica : job.replicas) {
    if (replica.type == ReplicaType::kEvaluator && !job.evaluator_in_cluster) continue;
    cluster.add_json(task_name(replica.type), addresses_json(job, replica.type, address));
  }
  return cluster.text();
}

std::string workers_json(const TfJob& job, int begin, int end, const AddressOf& address) {
  JsonObject workers;
  const ReplicaSpec* all = job.replica(ReplicaType::kWorker);
  for (int i = begin; all && i < end; ++i) {
    workers.add(std::to_string(i), address(ReplicaType::kWorker, i));
  }
  return workers.text();
}

// Of a job whose workers come and go: a worker knows itself and the servers, a server itself. The
// others, whom upstream tells nothing, know all, and themselves.
std::string sparse_cluster(const TfJob& job, ReplicaType type, int index,
                           const AddressOf& address) {
  JsonObject cluster;
  const std::string servers = addresses_json(job, ReplicaType::kPs, address);
  if (type == ReplicaType::kWorker) {
    cluster.add_json("worker", workers_json(job, index, index + 1, address));
    cluster.add_json("ps", servers);
  } else if (type == ReplicaType::kPs) {
    cluster.add_json("worker", "{}");
    cluster.add_json("ps", json_strings(std::vector{address(type, index)}));
  } else {
    const ReplicaSpec* workers = job.replica(ReplicaType::kWorker);
    cluster.add_json(task_name(type), addresses_json(job, type, address));
    cluster.add_json("worker", workers_json(job, 0, workers ? workers->replicas : 0, address));
    cluster.add_json("ps", servers);
  }
  return cluster.text();
}

}  // namespace

std::string tf_config(const TfJob& job, ReplicaType type, int index, const AddressOf& address) {
  JsonObject config;
  if (job.dynamic_workers) {
    config.add_json("cluster", sparse_cluster(job, type, index, address));
    config.add_json("task", task_json(type, index));
  } else {
    config.add_json("cluster", whole_cluster(job, address));
    config.add_json("task", task_json(type, index));
    config.add("environment", "cloud");
  }
  return config.text();
}

std::string tf_config(const TfJob& job, ReplicaType type, int index,
                      std::string_view cluster_domain) {
  return tf_config(job, type, index, [&](ReplicaType other, int i) {
    const ReplicaSpec* replica = job.replica(other);
    std::string host = replica_name(job, other, i);
    if (!job.bare_names) host += fmt::format(".{}.svc", job.space);
    if (!job.bare_names && !cluster_domain.empty()) host += fmt::format(".{}", cluster_domain);
    return fmt::format("{}:{}", host, replica ? replica->port : kDefaultPort);
  });
}

}  // namespace capstan::jobs::k8s
