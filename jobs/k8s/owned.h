#pragma once

// The metadata of whatever belongs to a job.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "jobs/k8s/job_objects.h"

namespace capstan::jobs::k8s {

using Labels = std::vector<std::pair<std::string, std::string>>;

inline Labels job_labels(const TfJob& job) {
  return {{std::string(kOperatorLabel), std::string(kOperatorName)},
          {std::string(kJobLabel), job.name}};
}

inline nlohmann::json labels_json(const Labels& labels) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, value] : labels) out[name] = value;
  return out;
}

// Goes when the job goes.
inline nlohmann::json owner_of(const TfJob& job) {
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "TFJob"},
          {"name", job.name},
          {"uid", job.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

inline nlohmann::json metadata_of(const TfJob& job, const std::string& name, const Labels& labels) {
  return {{"name", name},
          {"namespace", job.space},
          {"labels", labels_json(labels)},
          {"ownerReferences", nlohmann::json::array({owner_of(job)})}};
}

}  // namespace capstan::jobs::k8s
