#pragma once

// What is remembered of a job on disk, while it runs and afterwards: a JSON file that is whole or
// absent at any moment. docs/formats/job-record.md has its fields.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/report.h"

namespace capstan::jobs {

struct CurvePoint {
  double seconds = 0;  // since the start of the job
  int64_t step = 0;
  std::optional<double> loss;
};

struct JobRecord {
  std::string id;
  std::string name;
  std::vector<std::string> command;  // the program and its arguments
  std::string host;                  // where it runs, by name; empty: not known
  std::string cwd;
  std::string cluster;    // where its tasks ran, of a job that was kept from one; empty: here
  std::string log_dir;    // empty: none are kept
  int64_t created = 0;    // seconds since 1970
  bool detached = false;  // nobody waits for it
  int controller = 0;     // process that decides; another one of the same job may come
  int holder = 0;         // process that holds the tasks of a detached job
  JobState state;
  // Once it has ended:
  int exit_code = 0;
  std::string reason;
  std::string cause;  // task that failed first
  std::vector<std::string> last_lines;

  double steps_per_second = 0;
  std::vector<CurvePoint> curve;

  bool done() const { return state.done(); }
  // Seconds since 1970 of a moment on the job's clock.
  double wall(double time) const { return double(created) + (time - state.started); }
  const TaskReport* task(const TaskId& id) const;
};

// Of this machine.
std::string host_name();

// The furthest that any task has come.
Progress progress_of(const JobRecord& record);

// Bounded: what is longer than anybody reads is cut.
std::string to_json(const JobRecord& record);
// Throws DataLoss for what is no record, and FailedPrecondition for one of another version.
JobRecord record_from_json(std::string_view text);

// Adds a point, and thins the curve where it has become too long.
void add_point(std::vector<CurvePoint>& curve, CurvePoint point);

}  // namespace capstan::jobs
