#pragma once

// What commands show of the TFJobs of a cluster. Pure functions: objects in, text out.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace capstan::jobs::k8s {

// One line for each, cut to `columns` (0: none is), newest first; `spaces`: with their namespaces.
// `now`: seconds since 1970.
std::string tf_jobs_table(std::vector<nlohmann::json> jobs, bool spaces, double now,
                          size_t columns);
// One JSON object in a line, with the names that jobs of this machine have.
std::string tf_job_line_json(const nlohmann::json& job, double now);

// State, replicas, pods, conditions and the last events.
std::string tf_job_text(const nlohmann::json& job, const std::vector<nlohmann::json>& pods,
                        const std::vector<nlohmann::json>& events, double now, size_t columns);

}  // namespace capstan::jobs::k8s
