#pragma once

// What a scalar of YAML 1.1 means, as Kubernetes' reader takes it.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace capstan::jobs::k8s {

// `tag` as yaml-cpp gives it: "?" for a plain word, "!" for a quoted one, else the tag's whole
// name. Throws InvalidArgument for a tag that is not known, or that the text does not fit, and for
// numbers that JSON does not have.
nlohmann::json scalar_value(std::string_view tag, const std::string& text);

// A scalar as the name of a field. Throws InvalidArgument for null.
std::string scalar_name(std::string_view tag, const std::string& text);

}  // namespace capstan::jobs::k8s
