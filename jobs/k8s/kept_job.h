#pragma once

// A job of a cluster on the shelf of this user (jobs/job_shelf.h), with what its replicas printed:
// pods go, and their logs with them. It lies there among the jobs of this machine that have ended,
// within the same limits, and the same commands show and forget it.

#include <optional>
#include <string>
#include <vector>

#include "jobs/job_shelf.h"
#include "jobs/k8s/cluster_client.h"
#include "jobs/k8s/pod_logs.h"

namespace capstan::jobs::k8s {

// The same for the same pods: who keeps them twice has one record.
std::string kept_id(const nlohmann::json& job, const std::vector<nlohmann::json>& pods);

// What there is to say of it. One that has not ended counts as stopped now.
JobRecord kept_record(const nlohmann::json& job, const std::vector<nlohmann::json>& pods,
                      const std::string& server, double now);

// Reads the logs of all pods into a record on the shelf. Nothing if no pod has printed, or if
// there is no place for it, which is said.
std::optional<std::string> keep_job(ClusterClient& client, const nlohmann::json& job,
                                    const std::vector<nlohmann::json>& pods,
                                    const std::string& server, JobShelf& shelf);

}  // namespace capstan::jobs::k8s
