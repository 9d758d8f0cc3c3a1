#pragma once

// Which pods and services of a job go when it has ended, and which because the job has fewer
// replicas than before.

#include <string>
#include <vector>

#include "jobs/k8s/job_pods.h"
#include "jobs/k8s/tf_job.h"

namespace capstan::jobs::k8s {

struct Cleaning {
  std::vector<const PodSeen*> pods;
  std::vector<const ServiceSeen*> services;
};

// After the end. A service stays with its pod; TensorBoard stays until the job goes.
Cleaning after_the_end(const JobPods& pods, CleanPods policy);
// For a job that is suspended or hit a limit: all replicas.
Cleaning everything(const JobPods& pods);
// Replicas that the job does not have any more.
Cleaning surplus(const TfJob& job, const JobPods& pods);

}  // namespace capstan::jobs::k8s
