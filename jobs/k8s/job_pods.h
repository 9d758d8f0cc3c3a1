#pragma once

// The pods and services of one job, as the informers have told of them.

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

struct JobPods {
  std::map<std::string, PodSeen, std::less<>> pods;          // by name
  std::map<std::string, ServiceSeen, std::less<>> services;  // by name

  const PodSeen* pod(std::string_view name) const {
    auto found = pods.find(name);
    return found == pods.end() ? nullptr : &found->second;
  }
};

}  // namespace capstan::jobs::k8s
