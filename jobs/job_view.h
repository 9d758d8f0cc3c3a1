#pragma once

// What `capstan jobs` and `capstan status` show of jobs that other processes look after.

#include <string>
#include <vector>

#include "jobs/job_shelf.h"

namespace capstan::jobs {

// One line for each, cut to `columns`.
std::string jobs_table(const std::vector<ShelvedJob>& jobs, double now, size_t columns);
// One JSON object in a line.
std::string job_line_json(const ShelvedJob& job, double now);

// State, command, tasks, the curve of the loss. `job` has a record; `now` is the wall clock's.
std::string status_text(const ShelvedJob& job, double now, size_t columns);
std::string status_json(const ShelvedJob& job);

// The loss over the steps, in `height` lines and two more for its axis; empty below two points.
std::string loss_curve(const std::vector<CurvePoint>& curve, size_t columns, size_t height);

}  // namespace capstan::jobs
