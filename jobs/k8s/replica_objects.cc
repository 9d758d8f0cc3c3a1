// The pod and the service of one replica.

#include <fmt/format.h>

#include "jobs/k8s/json_at.h"
#include "jobs/k8s/owned.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr const char* kSecretVolume = "capstan-job-secret";
constexpr int kOwnerReads = 0400;

bool is_master(const TfJob& job, ReplicaType type, int index) {
  if (type == ReplicaType::kChief || type == ReplicaType::kMaster) return true;
  return type == ReplicaType::kWorker && index == 0 && !job.chief();
}

Labels replica_labels(const TfJob& job, ReplicaType type, int index) {
  Labels labels = job_labels(job);
  labels.emplace_back(kTypeLabel, task_name(type));
  labels.emplace_back(kIndexLabel, std::to_string(index));
  return labels;
}

const char* pod_restart(ReplicaRestart restart) {
  switch (restart) {
    case ReplicaRestart::kOnFailure: return "OnFailure";
    case ReplicaRestart::kAlways: return "Always";
    default: return "Never";
  }
}

json& list_in(json& object, const char* name) {
  json& list = object[name];
  if (!list.is_array()) list = json::array();
  return list;
}

// The template's own, and ours over them.
void add_metadata(const TfJob& job, const ReplicaSpec& replica, int index, int attempt, json& pod) {
  Labels labels = replica_labels(job, replica.type, index);
  if (is_master(job, replica.type, index)) labels.emplace_back(kRoleLabel, "master");
  json metadata = metadata_of(job, replica_name(job, replica.type, index), {});
  const json& own = at(*replica.template_json, "metadata");
  for (const char* name : {"labels", "annotations"}) {
    metadata[name] = at(own, name).is_object() ? at(own, name) : json::object();
  }
  if (at(own, "finalizers").is_array()) metadata["finalizers"] = at(own, "finalizers");
  metadata["labels"].update(labels_json(labels));
  metadata["annotations"][std::string(kAttemptAnnotation)] = std::to_string(attempt);
  pod["metadata"] = std::move(metadata);
}

void add_secret(const TfJob& job, json& spec, json& container) {
  list_in(spec, "volumes")
      .push_back({{"name", kSecretVolume},
                  {"secret", {{"secretName", secret_name(job)}, {"defaultMode", kOwnerReads}}}});
  list_in(container, "volumeMounts")
      .push_back({{"name", kSecretVolume}, {"mountPath", kSecretFolder}, {"readOnly", true}});
  list_in(container, "env")
      .push_back({{"name", "CAPSTAN_SECRET_FILE"},
                  {"value", fmt::format("{}/{}", kSecretFolder, kSecretKey)}});
}

void add_gang(const TfJob& job, const ReplicaSpec& replica, const ClusterOptions& options,
              json& pod) {
  json& scheduler = pod["spec"]["schedulerName"];
  if (!scheduler.is_string() || scheduler.get_ref<const std::string&>().empty()) {
    scheduler = options.gang_scheduler;
  }
  if (options.gang_scheduler == "volcano") {
    json& annotations = pod["metadata"]["annotations"];
    annotations["scheduling.k8s.io/group-name"] = job.name;
    annotations["volcano.sh/task-spec"] = task_name(replica.type);
  } else {
    pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = job.name;
  }
}

json* main_container(json& spec) {
  for (json& container : list_in(spec, "containers")) {
    if (text_at(container, "name") == kMainContainer) return &container;
  }
  return nullptr;
}

std::string joined(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, value);
  }
  return out;
}

// A port without a name is named by its number: of several each needs one.
json service_ports(const ReplicaSpec& replica) {
  json ports = json::array();
  json spec = at(*replica.template_json, "spec");
  const json* container = main_container(spec);
  for (const json& port : container ? list_at(*container, "ports") : json::array_t()) {
    const int64_t number = whole_at(port, "containerPort").value_or(kDefaultPort);
    std::string name = text_at(port, "name");
    if (name.empty()) name = fmt::format("port-{}", number);
    json out = {{"name", name}, {"port", number}, {"targetPort", number}};
    if (const std::string protocol = text_at(port, "protocol"); !protocol.empty()) {
      out["protocol"] = protocol;
    }
    ports.push_back(std::move(out));
  }
  return ports;
}

}  // namespace

std::string replica_name(const TfJob& job, ReplicaType type, int index) {
  return fmt::format("{}-{}-{}", job.name, task_name(type), index);
}

std::string selector_of(const TfJob& job) { return joined(job_labels(job)); }

std::string selector_of(const TfJob& job, ReplicaType type) {
  Labels labels = job_labels(job);
  labels.emplace_back(kTypeLabel, task_name(type));
  return joined(labels);
}

json pod_of(const TfJob& job, const ReplicaSpec& replica, int index, int attempt,
            const ClusterOptions& options) {
  json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  add_metadata(job, replica, index, attempt, pod);
  json& spec = pod["spec"] = at(*replica.template_json, "spec");
  if (!spec.is_object()) spec = json::object();
  spec["restartPolicy"] = pod_restart(replica.restart);
  if (json* container = main_container(spec)) {
    add_secret(job, spec, *container);
    list_in(*container, "env")
        .push_back({{"name", "TF_CONFIG"},
                    {"value", tf_config(job, replica.type, index, options.domain)}});
  }
  if (!options.gang_scheduler.empty()) add_gang(job, replica, options, pod);
  return pod;
}

json service_of(const TfJob& job, const ReplicaSpec& replica, int index) {
  const Labels labels = replica_labels(job, replica.type, index);
  // Peers look for each other before they are ready.
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", metadata_of(job, replica_name(job, replica.type, index), labels)},
          {"spec",
           {{"clusterIP", "None"},
            {"selector", labels_json(labels)},
            {"ports", service_ports(replica)},
            {"publishNotReadyAddresses", true}}}};
}

}  // namespace capstan::jobs::k8s
