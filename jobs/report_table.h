#pragma once

// The table at the end of a job: host, port, job, task, done, success, seconds, peak memory, end;
// and, if anything was started again, how often and why.

#include <string>
#include <vector>

#include "jobs/report.h"

namespace capstan::jobs {

std::string report_table(const JobReport& report, bool colour = false);

// "512 B", "45.1 MB", "1.2 GB" (powers of 1000).
std::string human_bytes(int64_t bytes);

}  // namespace capstan::jobs
