#pragma once

// The environment of a container where there is no cluster.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/k8s/tf_job.h"

namespace capstan::jobs::k8s {

using Variables = std::vector<std::pair<std::string, std::string>>;

// $(NAME) replaced as Kubernetes does in commands and values: names that are not known stay, $$ is
// $.
std::string expand(std::string_view text, const Variables& variables);

// The variables of `container` in their order, with those of the pod's own fields; `given` come
// instead of those of the same name. What can only be had in the cluster is an error at `path`.
Variables container_env(const nlohmann::json& pod, const nlohmann::json& container,
                        const Variables& given, const std::string& path,
                        std::vector<FieldError>& errors);

}  // namespace capstan::jobs::k8s
