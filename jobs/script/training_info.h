#pragma once

// How a training went: a table of step, loss, speed and living workers, which can be read while the
// job runs and stays with the model. docs/formats/trained-model.md has its file.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/report.h"
#include "jobs/script/table.h"
#include "jobs/step_rate.h"

namespace capstan::script {

struct TrainingPoint {
  int64_t step = 0;
  std::optional<double> loss;
  double steps_per_second = 0;
  double seconds = 0;  // since the run began
  int live_workers = 0;
};

// One run. Bounded: a long one has fewer points in a second, never fewer than some hundreds.
class TrainingInfo {
 public:
  explicit TrainingInfo(std::string run, double started);  // seconds since 1970

  void add(const jobs::Progress& progress, double seconds, int live_workers);

  const std::string& run() const { return run_; }
  double started() const { return started_; }
  bool empty() const { return points_.empty(); }
  const TrainingPoint& last() const { return last_; }
  Rows rows() const;
  std::string to_json() const;
  // Throws DataLoss.
  static TrainingInfo from_json(const std::string& text);

 private:
  const std::string run_;
  const double started_;
  jobs::StepRate rate_;
  std::vector<TrainingPoint> points_;
  TrainingPoint last_;
};

// Of every model below `path`, and of the runs that train one there now: run, step, loss,
// steps_per_second, wall_time (seconds since 1970), seconds (since the run began), live_workers.
Rows training_info_rows(const std::string& path);

// Where a run that has not ended keeps its own: `<path>/<kRunningPrefix><run>/meta/…`.
inline constexpr std::string_view kRunningPrefix = ".part-";

}  // namespace capstan::script
