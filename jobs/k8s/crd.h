#pragma once

// The CustomResourceDefinition of TFJobs, made of the tables in fields.h. deploy/k8s/crd.yaml is
// crd_text(), which a test holds.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace capstan::jobs::k8s {

// On our definition, to tell it from another owner's.
inline constexpr const char* kPartOfLabel = "app.kubernetes.io/part-of";
inline constexpr const char* kPartOf = "capstan";

nlohmann::json crd_json();
// What an administrator should know of the definition that a cluster has: that it is another
// owner's, and which versions and fields of ours it lacks. Empty: it is ours, and has all.
std::string crd_note(const nlohmann::json& crd);
std::string crd_text();  // YAML, with a line on top that says where it comes from

}  // namespace capstan::jobs::k8s
