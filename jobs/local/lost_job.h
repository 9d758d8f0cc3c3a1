#pragma once

// What is left of a local job whose processes were killed from outside.

#include "jobs/job_shelf.h"

namespace capstan::jobs {

// Kills what still carries the job's id, and records the end.
void bury_lost_job(JobShelf& shelf, JobRecord record);

// Removes the job's folder, and its logs where they lie in our state folder.
void remove_with_logs(JobShelf& shelf, const JobRecord& record);

}  // namespace capstan::jobs
