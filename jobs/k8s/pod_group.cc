// The group by which a gang scheduler places all pods of a job, or none.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "jobs/k8s/json_at.h"
#include "jobs/k8s/owned.h"
#include "jobs/k8s/quantity.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using Amounts = std::map<std::string, int64_t>;  // thousandths

// Requests; of what only has a limit, the limit.
void add_container(const json& container, Amounts& sum) {
  const json& resources = at(container, "resources");
  const bool requests = at(resources, "requests").is_object() && !at(resources, "requests").empty();
  const json& wanted = at(resources, requests ? "requests" : "limits");
  if (!wanted.is_object()) return;
  for (const auto& [name, amount] : wanted.items()) {
    int64_t& total = sum[name];
    if (__builtin_add_overflow(total, quantity_of(amount).value_or(0), &total)) {
      total = std::numeric_limits<int64_t>::max();
    }
  }
}

// Those that ask for more come first; a priority class is no number here, so that among equals the
// order is that of the types.
std::vector<const ReplicaSpec*> by_priority(const TfJob& job) {
  std::vector<const ReplicaSpec*> order;
  for (const ReplicaSpec& replica : job.replicas) order.push_back(&replica);
  auto priority = [](const ReplicaSpec* replica) {
    return whole_at(at(*replica->template_json, "spec"), "priority").value_or(0);
  };
  std::ranges::stable_sort(order, std::greater<>(), priority);
  return order;
}

json needed_resources(const TfJob& job, int64_t pods) {
  Amounts sum;
  for (const ReplicaSpec* replica : by_priority(job)) {
    for (int i = 0; i < replica->replicas && pods > 0; ++i, --pods) {
      for (const json& one : list_at(at(*replica->template_json, "spec"), "containers")) {
        add_container(one, sum);
      }
    }
  }
  json out = json::object();
  for (const auto& [name, amount] : sum) out[name] = quantity_text(amount);
  return out;
}

json group_spec(const TfJob& job) {
  const json none = json::object();
  const json& policy = job.scheduling_policy ? *job.scheduling_policy : none;
  const int64_t members = whole_at(policy, "minAvailable").value_or(job.total_replicas());
  json spec = {{"minMember", members}};
  spec["minResources"] = at(policy, "minResources").is_object() ? at(policy, "minResources")
                                                                : needed_resources(job, members);
  return spec;
}

}  // namespace

json pod_group_of(const TfJob& job, const ClusterOptions& options) {
  const bool volcano = options.gang_scheduler == "volcano";
  const json none = json::object();
  const json& policy = job.scheduling_policy ? *job.scheduling_policy : none;
  json spec = group_spec(job);
  if (volcano) {
    const std::string queue = text_at(policy, "queue");
    spec["queue"] = queue.empty() ? "default" : queue;
    const std::string priority = text_at(policy, "priorityClass");
    if (!priority.empty()) spec["priorityClassName"] = priority;
  } else if (const auto timeout = whole_at(policy, "scheduleTimeoutSeconds")) {
    spec["scheduleTimeoutSeconds"] = *timeout;
  }
  return {
      {"apiVersion", volcano ? "scheduling.volcano.sh/v1beta1" : "scheduling.x-k8s.io/v1alpha1"},
      {"kind", "PodGroup"},
      {"metadata", metadata_of(job, job.name, job_labels(job))},
      {"spec", std::move(spec)}};
}

bool waits_for_pod_group(std::string_view phase, const ClusterOptions& options) {
  return options.gang_scheduler == "volcano" && (phase.empty() || phase == "Pending");
}

std::vector<JobWarning> gang_warnings(const TfJob& job, const ClusterOptions& options) {
  std::vector<JobWarning> warnings;
  for (const ReplicaSpec& replica : job.replicas) {
    const std::string own = text_at(at(*replica.template_json, "spec"), "schedulerName");
    if (options.gang_scheduler.empty() || own.empty() || own == options.gang_scheduler) continue;
    const std::string path =
        fmt::format("spec.tfReplicaSpecs[{}].template.spec.schedulerName", type_name(replica.type));
    warnings.push_back({"SetPodTemplateSchedulerName", path,
                        fmt::format("{} is {}: its pods are not placed together with the others; "
                                    "leave it out, and {} places them",
                                    path, own, options.gang_scheduler)});
  }
  return warnings;
}

}  // namespace capstan::jobs::k8s
