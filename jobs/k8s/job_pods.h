#pragma once

// The pods and services of one job, and its group where there are gangs, as the informers have told
// of them.

#include <map>
#include <string>

#include "jobs/k8s/pod_seen.h"

namespace capstan::jobs::k8s {

struct ServiceSeen {
  ObjectName name;
  std::string uid;
  std::string owner;
  std::optional<TaskId> task;  // none: of no replica
};

ServiceSeen see_service(const nlohmann::json& service);

// A PodGroup, by which a scheduler places all pods of a job or none.
struct GroupSeen {
  ObjectName name;
  std::string uid;
  std::string owner;
  std::string phase;  // Pending, Inqueue, Running; empty: nobody has looked at it
  std::string waits;  // why it is not placed, in its scheduler's words
  bool going = false;
  JsonRef spec;
};

GroupSeen see_group(const nlohmann::json& group);

struct JobPods {
  std::map<std::string, PodSeen, std::less<>> pods;          // by name
  std::map<std::string, ServiceSeen, std::less<>> services;  // by name
  std::optional<GroupSeen> group;

  bool empty() const { return pods.empty() && services.empty() && !group; }
  const PodSeen* pod(std::string_view name) const {
    auto found = pods.find(name);
    return found == pods.end() ? nullptr : &found->second;
  }
};

}  // namespace capstan::jobs::k8s
