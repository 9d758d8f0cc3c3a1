#include "jobs/k8s/tf_job_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "base/printable.h"
#include "jobs/k8s/fields.h"
#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/json_at.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr std::string_view kOurs = "kubeflow.org/training-operator";
constexpr size_t kLongestLabel = 63;
constexpr const char* kSpecs = "spec.tfReplicaSpecs";

std::string quoted(const std::string& text) { return "\"" + printable(text) + "\""; }

// What the API of Kubernetes calls a DNS-1035 label.
bool is_label(std::string_view name) {
  auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto is_end = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kLongestLabel && is_letter(name.front()) &&
         is_end(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return is_end(c) || c == '-'; });
}

class Rules {
 public:
  Rules(const TfJob& job, const json& object, std::vector<FieldError>& errors)
      : job_(job), spec_(at(object, "spec")), metadata_(at(object, "metadata")), errors_(errors) {}

  void check() {
    name();
    types();
    for (const ReplicaSpec& replica : job_.replicas) containers(replica);
    said_twice();
    success();
    dynamic_workers();
    evaluator();
    tensorboard();
  }

 private:
  void name() {
    const bool generated = job_.name.empty() && !text_at(metadata_, "generateName").empty();
    if (generated) return;
    if (job_.name.empty()) return fail("metadata.name", "Required", "a job needs a name");
    if (!is_label(job_.name)) {
      return fail("metadata.name", "Invalid",
                  fmt::format("{} is no name for pods and services: at most 63 lower-case letters, "
                              "digits and -, beginning with a letter and not ending with -",
                              quoted(job_.name)));
    }
    for (const ReplicaSpec& replica : job_.replicas) long_name(replica);
  }

  void long_name(const ReplicaSpec& replica) {
    const std::string longest = replica_name(job_, replica.type, std::max(replica.replicas - 1, 0));
    if (longest.size() <= kLongestLabel || long_name_said_) return;
    long_name_said_ = true;
    fail("metadata.name", "Invalid",
         fmt::format("{} is too long for its pods: {} has {} characters, and 63 is the most; "
                     "shorten the name by {}",
                     quoted(job_.name), longest, longest.size(), longest.size() - kLongestLabel));
  }

  void types() {
    const json& specs = at(spec_, "tfReplicaSpecs");
    if (specs.is_null() || (specs.is_object() && specs.empty())) {
      return fail(kSpecs, "Required",
                  "says which replicas the job has, as in Worker: and below it "
                  "template:");
    }
    if (!specs.is_object()) return;
    std::array<std::string, 5> seen;
    for (const auto& [name, replica] : specs.items()) type(name, replica, seen);
    if (job_.replica(ReplicaType::kChief) && job_.replica(ReplicaType::kMaster)) {
      fail(kSpecs, "Forbidden", "Chief and Master are the same role; keep one of them");
    }
  }

  void type(const std::string& name, const json& replica, std::array<std::string, 5>& seen) {
    const std::string path = fmt::format("{}[{}]", kSpecs, printable(name));
    const auto type = replica_type(name);
    if (!type) {
      static const std::vector<std::string> kAll = {"Chief", "Master", "Worker", "PS", "Evaluator"};
      return fail(path, "NotSupported",
                  fmt::format("{} is no type of replica; there are {}{}", quoted(name),
                              fmt::join(kAll, ", "), did_you_mean(name, kAll)));
    }
    std::string& first = seen[size_t(*type)];
    if (!first.empty()) {
      return fail(path, "Invalid", fmt::format("the same type as {}; keep one of them", first));
    }
    first = name;
    if (replica.is_null()) {
      fail(path, "Required", "is empty; it needs a template with a container named tensorflow");
    }
  }

  void containers(const ReplicaSpec& replica) {
    const std::string path =
        fmt::format("{}[{}].template.spec.containers", kSpecs, type_name(replica.type));
    const json& written = at(spec_, "tfReplicaSpecs");
    for (const auto& [name, one] : written.items()) {
      if (replica_type(name) == replica.type && one.is_null()) return;
    }
    const json& all = at(*replica.template_json, "spec", "containers");
    if (!all.is_null() && !all.is_array()) return;  // said already
    if (all.empty()) {
      return fail(path, "Required",
                  "there is no container; one named tensorflow must run the program");
    }
    bool has_main = false;
    for (size_t i = 0; i < all.size(); ++i) {
      has_main |= text_at(all[i], "name") == kMainContainer;
      const bool has_image = !text_at(all[i], "image").empty();
      const bool wrong_type = !all[i].is_object() || !at(all[i], "image").is_string();
      if (has_image || (wrong_type && !at(all[i], "image").is_null())) continue;
      fail(fmt::format("{}[{}].image", path, i), "Required", "a container needs an image");
    }
    if (!has_main) no_main_container(path, all);
  }

  void no_main_container(const std::string& path, const json& all) {
    std::vector<std::string> names;
    for (const json& one : all) names.push_back(printable(text_at(one, "name")));
    fail(path, "Required",
         fmt::format("no container is named tensorflow ({}); the one that runs the program must be",
                     fmt::join(names, ", ")));
  }

  // Versions differ in where these stand.
  void said_twice() {
    for (const char* name :
         {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"}) {
      const json& outer = at(spec_, name);
      const json& inner = at(spec_, "runPolicy", name);
      if (outer.is_null() || inner.is_null() || outer == inner) continue;
      fail(fmt::format("spec.{}", name), "Invalid",
           fmt::format("spec.runPolicy.{} says otherwise; keep that one", name));
    }
  }

  void success() {
    const std::string& policy = job_.success_policy;
    if (policy.empty() || policy == "AllWorkers") return;
    if (policy == "ChiefOnly") {
      if (!job_.chief()) {
        fail("spec.successPolicy", "Invalid", "ChiefOnly needs a Chief or a Master");
      }
      return;
    }
    if (const auto share = percentage(policy)) {
      if (!job_.replica(ReplicaType::kWorker)) {
        fail("spec.successPolicy", "Invalid", "a share of the workers, and there are none");
      }
      return;
    }
    static const std::vector<std::string> kWords = {"AllWorkers", "ChiefOnly"};
    fail("spec.successPolicy", "NotSupported",
         fmt::format("{} is none of AllWorkers, ChiefOnly, or a share such as 50%{}",
                     quoted(policy), did_you_mean(policy, kWords)));
  }

  void dynamic_workers() {
    const json& least = at(spec_, "runPolicy", "minWorkers");
    if (!least.is_number_integer()) return;
    const ReplicaSpec* workers = job_.replica(ReplicaType::kWorker);
    const char* path = "spec.runPolicy.minWorkers";
    if (!job_.dynamic_workers) {
      fail(path, "Invalid", "counts only with spec.enableDynamicWorker: true");
    } else if (job_.min_workers > (workers ? workers->replicas : 0)) {
      fail(path, "Invalid",
           fmt::format("{} workers must be left, and there are only {}", job_.min_workers,
                       workers ? workers->replicas : 0));
    }
  }

  void evaluator() {
    if (!job_.wait_for_evaluator || job_.replica(ReplicaType::kEvaluator)) return;
    fail("spec.runPolicy.waitForEvaluator", "Invalid", "there is no Evaluator to wait for");
  }

  void tensorboard() {
    if (!job_.tensorboard || !job_.tensorboard->log_dir.empty()) return;
    fail("spec.tensorboard.logDir", "Required", "the folder with event files");
  }

  void fail(std::string path, std::string kind, std::string message) {
    errors_.push_back({std::move(path), std::move(kind), std::move(message)});
  }

  const TfJob& job_;
  const json& spec_;
  const json& metadata_;
  std::vector<FieldError>& errors_;
  bool long_name_said_ = false;
};

void check_version(const json& object, std::vector<FieldError>& errors) {
  static const std::vector<std::string> kVersions = {"kubeflow.org/v1", "kubeflow.org/v1beta2",
                                                     "kubeflow.org/v1beta1"};
  const std::string version = text_at(object, "apiVersion"), kind = text_at(object, "kind");
  if (std::ranges::find(kVersions, version) == kVersions.end()) {
    const bool old = version.starts_with("kubeflow.org/v1alpha");
    errors.push_back({"apiVersion", version.empty() ? "Required" : "NotSupported",
                      fmt::format("{} is none of {}{}", quoted(version), fmt::join(kVersions, ", "),
                                  old ? "; v1alpha jobs are written otherwise: see the guide for "
                                        "what to change"
                                      : "")});
  }
  if (kind != "TFJob") {
    errors.push_back({"kind", kind.empty() ? "Required" : "NotSupported",
                      fmt::format("{} is no TFJob", quoted(kind))});
  }
}

}  // namespace

std::optional<int> percentage(std::string_view text) {
  if (text.size() < 2 || text.size() > 4 || !text.ends_with('%')) return std::nullopt;
  int value = 0;
  for (char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value >= 1 && value <= 100 ? std::optional(value) : std::nullopt;
}

bool is_ours(const TfJob& job) { return job.managed_by.empty() || job.managed_by == kOurs; }

void check_shape(const json& object, bool strict, std::vector<FieldError>& errors) {
  check_fields(object, object_fields(), /*open=*/false, "", strict, errors);
  if (object.is_object()) check_version(object, errors);
}

void check_rules(const TfJob& job, const json& object, std::vector<FieldError>& errors) {
  if (object.is_object()) Rules(job, object, errors).check();
}

std::vector<FieldError> check_update(const TfJob& before, const TfJob& after) {
  std::vector<FieldError> errors;
  if (before.managed_by != after.managed_by) {
    errors.push_back({"spec.runPolicy.managedBy", "Invalid",
                      fmt::format("cannot be changed, and was {}", quoted(before.managed_by))});
  }
  auto queue = [](const TfJob& job) {
    return job.scheduling_policy ? text_at(*job.scheduling_policy, "queue") : "";
  };
  if (queue(before) != queue(after)) {
    errors.push_back({"spec.runPolicy.schedulingPolicy.queue", "Invalid",
                      fmt::format("cannot be changed, and was {}", quoted(queue(before)))});
  }
  return errors;
}

}  // namespace capstan::jobs::k8s
