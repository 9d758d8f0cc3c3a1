#pragma once

// What a refusal of the API server means, in words that help: what was asked, what the server said,
// what to do.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "jobs/k8s/kube_api.h"

namespace capstan::jobs::k8s {

// A call as RBAC sees it.
struct Asked {
  std::string_view verb;  // get, list, watch, create, update, patch, delete, deletecollection
  Resource resource;
  std::string_view subresource;
  ObjectName object;
};
Asked asked_of(const ApiCall& call);

// "create pods train/job-ps-0", "list tfjobs.kubeflow.org in all namespaces".
std::string text_of(const Asked& asked);
// A line for a Role: "- {apiGroups: [""], resources: ["pods"], verbs: ["list"]}".
std::string rbac_rule(const Asked& asked);

// `status`: what came with the code, maybe no Status at all; null: nothing came.
Error refusal(const Asked& asked, int code, const nlohmann::json* status);
// No answer came.
Error not_reached(const Asked& asked, std::string_view why);

// The server's own words, as they stand in a log or `kubectl`, for one who answers like it.
std::string_view reason_of(int code);
nlohmann::json status_json(int code, std::string_view reason, std::string_view message);

}  // namespace capstan::jobs::k8s
