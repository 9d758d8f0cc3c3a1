#pragma once

// JSON as YAML that people read: blocks, two spaces, quotes only where they are needed.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace capstan::jobs::k8s {

// Ends with a line break. read_documents() reads it as the same value.
std::string yaml_text(const nlohmann::json& value);

}  // namespace capstan::jobs::k8s
