#pragma once

// What `capstan jobs` and `capstan status` show of jobs that other processes look after.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jobs/job_shelf.h"

namespace capstan::jobs {

// One line for each, cut to `columns`; 0: none is.
std::string jobs_table(const std::vector<ShelvedJob>& jobs, double now, size_t columns);
// One JSON object in a line.
std::string job_line_json(const ShelvedJob& job, double now);

// Bytes that a process of this machine has now; 0: it is gone, or not ours to see.
using MemoryOf = std::function<int64_t(int pid)>;

// State, command, tasks, the curve of the loss. `job` has a record; `now` is the wall clock's; 0
// columns: nothing is cut.
std::string status_text(const ShelvedJob& job, double now, size_t columns,
                        const MemoryOf& memory_of);
std::string status_json(const ShelvedJob& job);

// The loss over the steps, in `height` lines and two more for its axis; empty below two points.
std::string loss_curve(const std::vector<CurvePoint>& curve, size_t columns, size_t height);

}  // namespace capstan::jobs
