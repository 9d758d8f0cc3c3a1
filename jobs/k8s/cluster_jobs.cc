#include "jobs/k8s/cluster_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>

#include "base/nearest.h"
#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/pod_seen.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr const char* kManager = "capstan";  // who set a field, as the server remembers it
constexpr size_t kMostChanges = 20, kLongestValue = 60;

ObjectName name_of(const json& object) {
  return {text_at(at(object, "metadata"), "namespace"), text_at(at(object, "metadata"), "name")};
}

std::string shown_name(const json& object) {
  const ObjectName name = name_of(object);
  return name.space + "/" + name.name;
}

void check_not_ended(const json& job, std::string_view what) {
  if (!seen_status(job).ended()) return;
  throw failed_precondition(
      "job {} has ended ({}): there is nothing to {}; to run it again, capstan delete it and apply "
      "its file anew",
      shown_name(job), state_of(job), what);
}

ApiCall patch_of(const json& job, json body) {
  return {.verb = Verb::kMergePatch,
          .resource = tf_jobs_of(text_at(job, "apiVersion")),
          .object = name_of(job),
          .query = fmt::format("fieldManager={}", kManager),
          .body = std::make_shared<const json>(std::move(body))};
}

// What a user wrote, without what only the server may say.
json to_apply(const json& object, const std::string& space) {
  json out = object;
  out.erase("status");
  json& metadata = out["metadata"];
  for (const char* name :
       {"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"}) {
    metadata.erase(name);
  }
  if (text_at(metadata, "namespace").empty()) metadata["namespace"] = space;
  return out;
}

std::string value_text(const json& value) {
  if (value.is_null()) return "none";
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= kLongestValue ? text : text.substr(0, kLongestValue) + "…";
}

// Objects are gone into, anything else is compared as a whole.
void differences(const json& before, const json& after, const std::string& path,
                 std::vector<std::string>& out) {
  if (before == after || out.size() >= kMostChanges) return;
  if (!before.is_object() || !after.is_object()) {
    out.push_back(fmt::format("{}: {} -> {}", path, value_text(before), value_text(after)));
    return;
  }
  std::map<std::string, bool> names;
  for (const auto& [name, value] : before.items()) names[name] = true;
  for (const auto& [name, value] : after.items()) names[name] = true;
  for (const auto& [name, there] : names) {
    differences(at(before, name), at(after, name), path + "." + name, out);
  }
}

std::vector<std::string> changes_between(const json& before, const json& after) {
  std::vector<std::string> out;
  differences(at(before, "spec"), at(after, "spec"), "spec", out);
  for (const char* name : {"labels", "annotations"}) {
    differences(at(before, "metadata", name), at(after, "metadata", name),
                std::string("metadata.") + name, out);
  }
  return out;
}

void check_stays(const json& job) {
  if (text_at(at(job, "metadata"), "deletionTimestamp").empty()) return;
  throw failed_precondition(
      "job {0} is being deleted; apply its file once it is gone: capstan wait -n {1} --for=deleted "
      "{2}",
      shown_name(job), name_of(job).space, name_of(job).name);
}

// The key as the job spells it: MASTER, Worker.
std::string key_of(const json& job, const std::string& type) {
  const std::optional<ReplicaType> wanted = replica_type(type);
  std::vector<std::string> there;
  for (const auto& [key, value] : at(job, "spec", "tfReplicaSpecs").items()) {
    if (wanted && replica_type(key) == wanted) return key;
    there.push_back(key);
  }
  throw invalid_argument("job {} has no replicas of type {}; it has {}{}", shown_name(job), type,
                         fmt::join(there, ", "), did_you_mean(type, there));
}

}  // namespace

TfJob seen_tf_job(const json& object) {
  std::vector<FieldError> ignored;
  return read_tf_job(object, /*strict=*/false, ignored);
}

TfJobStatus seen_status(const json& object) { return read_status(at(object, "status")); }

std::string state_of(const json& object) {
  if (!text_at(at(object, "metadata"), "deletionTimestamp").empty()) return "Deleting";
  const TfJobStatus status = seen_status(object);
  for (const Condition& one : status.conditions | std::views::reverse) {
    if (one.is) return one.type;
  }
  return "Pending";
}

Resource tf_jobs_of(std::string_view api_version) {
  Resource resource = kTfJobs;
  for (std::string_view version : {"v1beta1", "v1beta2"}) {
    if (api_version == "kubeflow.org/" + std::string(version)) resource.version = version;
  }
  return resource;
}

Applied apply_job(ClusterClient& client, const json& object, const std::string& space,
                  bool dry_run) {
  json wanted = to_apply(object, space);
  const Resource resource = tf_jobs_of(text_at(wanted, "apiVersion"));
  const std::optional<json> before = client.find(resource, name_of(wanted));
  Applied applied;
  if (before) {
    check_stays(*before);
    json after = *before;
    after.merge_patch(wanted);
    applied.errors = check_update(seen_tf_job(*before), seen_tf_job(after));
    if (!applied.errors.empty()) return applied;
  }
  // force: whoever else set a field that the file names, the file says what it is to be.
  applied.object = client.must(
      {.verb = Verb::kApply,
       .resource = resource,
       .object = name_of(wanted),
       .query = fmt::format("fieldManager={}&force=true{}", kManager, dry_run ? "&dryRun=All" : ""),
       .body = std::make_shared<const json>(std::move(wanted))});
  if (!before) return applied;
  applied.changes = changes_between(*before, applied.object);
  applied.what = applied.changes.empty() ? Applied::What::kUnchanged : Applied::What::kChanged;
  return applied;
}

std::vector<std::string> scale_job(ClusterClient& client, const json& job,
                                   const std::vector<std::pair<std::string, int>>& replicas) {
  check_not_ended(job, "scale");
  json specs = json::object();
  for (const auto& [type, count] : replicas) specs[key_of(job, type)] = {{"replicas", count}};
  const json after = client.must(patch_of(job, {{"spec", {{"tfReplicaSpecs", specs}}}}));
  std::vector<std::string> changes;
  for (const auto& [key, spec] : specs.items()) {
    const int64_t before = whole_at(at(job, "spec", "tfReplicaSpecs", key), "replicas").value_or(1);
    if (before == spec["replicas"]) continue;
    changes.push_back(fmt::format("{}: {} -> {}", key, before, spec["replicas"].get<int64_t>()));
  }
  return changes;
}

bool suspend_job(ClusterClient& client, const json& job, bool suspend) {
  check_not_ended(job, suspend ? "suspend" : "resume");
  if (flag_at(at(job, "spec", "runPolicy"), "suspend", false) == suspend) return false;
  client.must(patch_of(job, {{"spec", {{"runPolicy", {{"suspend", suspend}}}}}}));
  return true;
}

void delete_job(ClusterClient& client, const json& job) {
  const json body = {{"kind", "DeleteOptions"},
                     {"apiVersion", "v1"},
                     {"propagationPolicy", "Background"},
                     {"preconditions", {{"uid", text_at(at(job, "metadata"), "uid")}}}};
  const ApiAnswer answer = client.ask({.verb = Verb::kDelete,
                                       .resource = kTfJobs,
                                       .object = name_of(job),
                                       .body = std::make_shared<const json>(body)});
  // Gone already is as good, and so is another one of its name in its place.
  if (answer.error && answer.code != 404 && answer.code != 409) throw Error(*answer.error);
}

std::string replica_selector(const std::string& job_name) {
  return fmt::format("{}={},{}={},{}", kOperatorLabel, kOperatorName, kJobLabel, job_name,
                     kTypeLabel);
}

std::vector<json> replica_pods(ClusterClient& client, const json& job) {
  const ObjectName name = name_of(job);
  std::vector<json> pods = client.list(kPods, name.space, replica_selector(name.name));
  const std::string uid = text_at(at(job, "metadata"), "uid");
  std::erase_if(pods, [&](const json& pod) {
    return controller_uid(pod) != uid || !see_pod(pod).task.has_value();
  });
  std::ranges::sort(pods, {}, [](const json& pod) {
    const TaskId task = *see_pod(pod).task;
    return std::pair(replica_type(task.job), task.index);
  });
  return pods;
}

}  // namespace capstan::jobs::k8s
