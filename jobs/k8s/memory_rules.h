#pragma once

// What the API server checks and fills in, apart from where objects are kept.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "jobs/k8s/kube_api.h"

namespace capstan::jobs::k8s {

// A refusal, thrown by what follows and turned into an answer.
struct Refused {
  int code;
  std::string reason, message;
};

// Of a CRD, not of the server's own.
bool is_custom(const Resource& resource);
bool has_status(const Resource& resource);

// Throws Refused for a body that is no object of this kind, or has a name or labels that no object
// may have.
void check_body(const ApiCall& call);
void check_name(const Resource& resource, const std::string& name);

const std::string& text_at(const nlohmann::json& object, const char* name);  // "" if there is none
const nlohmann::json& metadata_of(const nlohmann::json& object);

// What an object becomes of which `wanted` was asked. Throws Refused for a conflict.
nlohmann::json merged(const ApiCall& call, const nlohmann::json& before, nlohmann::json&& wanted);
// Before it has a version: a pod gets its phase.
nlohmann::json fresh(const Resource& resource, nlohmann::json&& object);

// How long a deletion takes: 0 unless it is a pod that runs on a node.
int64_t grace_of(const ApiCall& call, const nlohmann::json& object);
// preconditions of a deletion.
void check_preconditions(const ApiCall& call, const nlohmann::json& object);

}  // namespace capstan::jobs::k8s
