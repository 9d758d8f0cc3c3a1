#pragma once

// The process of a detached job that decides: jobs/local/detached_job.h.

#include "base/fd.h"
#include "jobs/job_record.h"
#include "jobs/job_spec.h"

namespace capstan::jobs {

// Begins the job, or goes on with its record. Returns when it has ended, with the exit code of the
// process: anything but 0 asks for another one.
int run_detached_controller(const JobSpec& spec, const Cluster& cluster, const JobRecord& record,
                            Fd holder);

}  // namespace capstan::jobs
