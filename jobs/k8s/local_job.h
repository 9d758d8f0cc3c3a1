#pragma once

// A TFJob as processes of this machine: the same rules, the same controller, and for each replica
// the command of its container `tensorflow`, its environment and TF_CONFIG.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/k8s/local_image.h"
#include "jobs/k8s/tf_job.h"
#include "jobs/observers.h"

namespace capstan::jobs::k8s {

struct LocalPlan {
  std::vector<LocalImage> images;
  std::vector<std::pair<std::string, std::string>> env;  // over that of the containers
  std::string python;                                    // Capstan's own interpreter
  std::string python_path;                               // of tasks: our packages, then the user's
};

struct LocalTfJob {
  JobSpec spec;
  std::vector<std::string> notes;  // what is left out here, for people
};

// Fills `errors` with what cannot be run here: an image that nothing stands for, a container
// without a command, a variable whose value is in the cluster.
LocalTfJob local_tf_job(const TfJob& job, const LocalPlan& plan, std::vector<FieldError>& errors);

}  // namespace capstan::jobs::k8s
