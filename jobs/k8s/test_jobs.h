#pragma once

// For tests: TFJobs from a few words.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jobs/k8s/tf_job.h"
#include "jobs/k8s/yaml.h"

namespace capstan::jobs::k8s {

// A valid job with so many replicas of each type that is named, as in {{"Worker", 2}}.
inline nlohmann::json job_json(const std::vector<std::pair<std::string, int>>& replicas,
                               nlohmann::json spec = nlohmann::json::object()) {
  for (const auto& [type, count] : replicas) {
    spec["tfReplicaSpecs"][type] = {
        {"replicas", count},
        {"template",
         {{"spec",
           {{"containers",
             nlohmann::json::array({{{"name", "tensorflow"}, {"image", "example/mnist:1"}}})}}}}}};
  }
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "TFJob"},
          {"metadata", {{"name", "mnist"}, {"namespace", "ml"}, {"uid", "u-1"}}},
          {"spec", std::move(spec)}};
}

// "path: Kind", one for each error.
inline std::vector<std::string> errors_of(const nlohmann::json& object, bool strict = true) {
  std::vector<FieldError> errors;
  read_tf_job(object, strict, errors);
  std::vector<std::string> out;
  for (const FieldError& error : errors) out.push_back(error.path + ": " + error.kind);
  return out;
}

inline TfJob read_job(const nlohmann::json& object) {
  std::vector<FieldError> errors;
  TfJob job = read_tf_job(object, /*strict=*/true, errors);
  for (const FieldError& error : errors) ADD_FAILURE() << error.text();
  return job;
}

inline TfJob job_of(std::string_view yaml) {
  return read_job(*read_documents(yaml, "test").at(0).json);
}

}  // namespace capstan::jobs::k8s
