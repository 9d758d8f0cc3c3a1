#pragma once

// What has to outlive an operator stands in the status of the TFJob: replicaStatuses has who has
// finished and how often replicas were started again, and `controller` the rest, which is of no use
// to people. Pods know their attempts themselves.

#include "jobs/k8s/operator_context.h"
#include "jobs/k8s/tf_job.h"
#include "jobs/k8s/tf_job_status.h"
#include "jobs/report.h"

namespace capstan::jobs::k8s {

// As it was when the status was written. Who runs is seen on the platform.
JobState remembered_state(const TfJob& job, const TfJobStatus& status, const KubeClock& clock);

// After the number of replicas has changed: those that are left are as they were.
JobState resized_state(const TfJob& job, JobState before);

// status.controller: null if there is nothing to remember.
JsonRef memory_of(const JobState& state);
// Whatever the job's policy says, nothing of it stays: it ended by a limit.
bool remembers_limit(const TfJobStatus& status);

}  // namespace capstan::jobs::k8s
