#pragma once

// A job that nobody waits for. One process, the holder, has the tasks: their ports, pipes and logs.
// A child of its own, the controller, decides, and can be killed at any time: the holder starts
// another one, which goes on from the job's record and from what it sees.

#include <string>

#include "jobs/job_spec.h"

namespace capstan::jobs {

struct DetachedOptions {
  std::string log_dir;  // empty: in the job's own folder
};

// Returns the job's id once its tasks have been started. Throws if that fails, or if there is no
// place for its record, without which nobody could find it again.
std::string run_detached(const JobSpec& spec, const DetachedOptions& options);

}  // namespace capstan::jobs
