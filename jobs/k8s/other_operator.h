#pragma once

// Two operators may see one job, ours and Kubeflow's. The server remembers who wrote the status of
// an object (metadata.managedFields): whoever else does has the job, and ours stands back.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace capstan::jobs::k8s {

// The name by which it writes, as "training-operator.v1" or "manager"; empty: nobody but us, and
// people with kubectl.
std::string other_operator(const nlohmann::json& job);

}  // namespace capstan::jobs::k8s
