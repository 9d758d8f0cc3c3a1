#pragma once

// `capstan apply` into a cluster.

#include <vector>

#include "main/job_file.h"
#include "main/options.h"

namespace capstan::cli {

// All are looked at before one is sent. Returns the exit code.
int apply_in_cluster(const std::vector<JobInFile>& all, const ApplyOptions& options);

}  // namespace capstan::cli
