#include "jobs/k8s/tf_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/tf_job_rules.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

struct TypeNames {
  std::string_view type, task;
};
constexpr std::array<TypeNames, 5> kNames = {{{"Chief", "chief"},
                                              {"Evaluator", "evaluator"},
                                              {"Master", "master"},
                                              {"PS", "ps"},
                                              {"Worker", "worker"}}};
constexpr std::array<std::string_view, 4> kRestarts = {"Never", "OnFailure", "Always", "ExitCode"};
constexpr std::array<std::string_view, 4> kCleaning = {"Running", "All", "None", "PS"};

template <class Enum, size_t n>
Enum named(const std::array<std::string_view, n>& names, const std::string& name, Enum otherwise) {
  auto found = std::ranges::find(names, name);
  return found == names.end() ? otherwise : Enum(found - names.begin());
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c | 0x20) : c; }

// Of the container that runs the program; else of the first.
json* main_container(json& pod_template) {
  json& spec = pod_template["spec"];
  if (!spec.is_object() || !at(spec, "containers").is_array()) return nullptr;
  json& containers = spec["containers"];
  for (json& container : containers) {
    if (text_at(container, "name") == kMainContainer) return &container;
  }
  return containers.empty() || !containers[0].is_object() ? nullptr : &containers[0];
}

// The port named tfjob-port, which is added where there is none.
int default_port(json& container) {
  for (const json& port : list_at(container, "ports")) {
    if (text_at(port, "name") != kPortName) continue;
    return int(whole_at(port, "containerPort").value_or(kDefaultPort));
  }
  if (!at(container, "ports").is_array()) container["ports"] = json::array();
  container["ports"].push_back({{"name", kPortName}, {"containerPort", kDefaultPort}});
  return kDefaultPort;
}

ReplicaSpec read_replica(ReplicaType type, const json& object) {
  ReplicaSpec replica{.type = type};
  replica.replicas = int(std::clamp<int64_t>(whole_at(object, "replicas").value_or(1), 0, 100'000));
  replica.restart = named(kRestarts, text_at(object, "restartPolicy"), ReplicaRestart::kNever);
  json pod = at(object, "template").is_object() ? at(object, "template") : json::object();
  replica.template_restart = text_at(at(pod, "spec"), "restartPolicy");
  if (json* container = main_container(pod)) replica.port = default_port(*container);
  replica.template_json = std::make_shared<const json>(std::move(pod));
  return replica;
}

void read_replicas(TfJob& job, const json& spec) {
  const json& specs = at(spec, "tfReplicaSpecs");
  if (!specs.is_object()) return;
  for (ReplicaType type : kReplicaTypes) {
    for (const auto& [name, object] : specs.items()) {
      if (replica_type(name) != type || job.replica(type)) continue;
      job.replicas.push_back(read_replica(type, object));
    }
  }
}

// Under runPolicy, else where older versions have it.
const json& policy_at(const json& spec, std::string_view name) {
  const json& inner = at(spec, "runPolicy", name);
  return inner.is_null() ? at(spec, name) : inner;
}

std::optional<int64_t> limit_at(const json& spec, std::string_view name) {
  const json& value = policy_at(spec, name);
  return value.is_number_integer() ? std::optional(value.get<int64_t>()) : std::nullopt;
}

void read_run_policy(TfJob& job, const json& spec) {
  const json& policy = at(spec, "runPolicy");
  const json& clean = policy_at(spec, "cleanPodPolicy");
  job.clean_pods =
      named(kCleaning, clean.is_string() ? clean.get<std::string>() : "", CleanPods::kRunning);
  job.ttl_seconds = limit_at(spec, "ttlSecondsAfterFinished");
  job.deadline_seconds = limit_at(spec, "activeDeadlineSeconds");
  job.backoff_limit = limit_at(spec, "backoffLimit");
  job.pending_timeout_seconds = whole_at(policy, "pendingTimeoutSeconds");
  job.suspend = flag_at(policy, "suspend", false);
  job.managed_by = text_at(policy, "managedBy");
  job.min_workers =
      int(std::clamp<int64_t>(whole_at(policy, "minWorkers").value_or(0), 0, 100'000));
  job.wait_for_evaluator = flag_at(policy, "waitForEvaluator", false);
  job.network_policy = flag_at(policy, "networkPolicy", false);
  if (text_at(policy, "restartScope") == "Job") job.restart_scope = RestartScope::kJob;
  if (at(policy, "schedulingPolicy").is_object()) {
    job.scheduling_policy = std::make_shared<const json>(at(policy, "schedulingPolicy"));
  }
}

JsonRef list_ref(const json& object, std::string_view name) {
  const json& list = at(object, name);
  return list.is_array() ? std::make_shared<const json>(list) : nullptr;
}

void read_tensorboard(TfJob& job, const json& board) {
  if (!board.is_object()) return;
  TensorBoardSpec spec{.log_dir = text_at(board, "logDir"), .image = text_at(board, "image")};
  if (const std::string type = text_at(board, "serviceType"); !type.empty()) {
    spec.service_type = type;
  }
  spec.volumes = list_ref(board, "volumes");
  spec.volume_mounts = list_ref(board, "volumeMounts");
  job.tensorboard = std::move(spec);
}

void read_metadata(TfJob& job, const json& metadata) {
  job.name = text_at(metadata, "name");
  job.space = text_at(metadata, "namespace");
  if (job.space.empty()) job.space = "default";
  job.uid = text_at(metadata, "uid");
  job.generation = whole_at(metadata, "generation").value_or(0);
  job.resource_version = text_at(metadata, "resourceVersion");
  job.being_deleted = !text_at(metadata, "deletionTimestamp").empty();
}

TfJob read(const json& object) {
  TfJob job;
  const json& spec = at(object, "spec");
  job.api_version = text_at(object, "apiVersion");
  read_metadata(job, at(object, "metadata"));
  read_replicas(job, spec);
  read_run_policy(job, spec);
  read_tensorboard(job, at(spec, "tensorboard"));
  job.success_policy = text_at(spec, "successPolicy");
  job.dynamic_workers = flag_at(spec, "enableDynamicWorker", false);
  job.bare_names = text_at(at(spec, "tfConfig"), "hostNames") == "Bare";
  job.evaluator_in_cluster = flag_at(at(spec, "tfConfig"), "evaluatorInCluster", true);
  if (at(object, "status").is_object()) {
    job.status = std::make_shared<const json>(at(object, "status"));
  }
  return job;
}

}  // namespace

std::string_view type_name(ReplicaType type) { return kNames[size_t(type)].type; }
std::string_view task_name(ReplicaType type) { return kNames[size_t(type)].task; }
std::string_view restart_name(ReplicaRestart restart) { return kRestarts[size_t(restart)]; }
std::string_view clean_pods_name(CleanPods clean) { return kCleaning[size_t(clean)]; }

std::optional<ReplicaType> replica_type(std::string_view any_case) {
  for (ReplicaType type : kReplicaTypes) {
    if (std::ranges::equal(any_case, task_name(type), {}, lower)) return type;
  }
  return std::nullopt;
}

const ReplicaSpec* TfJob::replica(ReplicaType type) const {
  auto found = std::ranges::find(replicas, type, &ReplicaSpec::type);
  return found == replicas.end() ? nullptr : &*found;
}

const ReplicaSpec* TfJob::chief() const {
  const ReplicaSpec* chief = replica(ReplicaType::kChief);
  return chief ? chief : replica(ReplicaType::kMaster);
}

int TfJob::total_replicas() const {
  int total = 0;
  for (const ReplicaSpec& replica : replicas) total += replica.replicas;
  return total;
}

std::string FieldError::text() const {
  return fmt::format("{}: {}: {}", path.empty() ? "the object" : path, kind, message);
}

TfJob read_tf_job(const json& object, bool strict, std::vector<FieldError>& errors) {
  check_shape(object, strict, errors);
  TfJob job = read(object);
  check_rules(job, object, errors);
  return job;
}

}  // namespace capstan::jobs::k8s
