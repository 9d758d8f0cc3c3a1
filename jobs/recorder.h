#pragma once

// Keeps the record of a job that runs. Where it cannot be written that is said once, and the job
// goes on.

#include <functional>
#include <string>

#include "base/loop.h"
#include "jobs/job_record.h"
#include "jobs/job_shelf.h"
#include "jobs/step_rate.h"

namespace capstan::jobs {

class Recorder : public JobObserver {
 public:
  using Say = std::function<void(std::string_view text)>;

  // Goes on with a record that is there already.
  Recorder(JobShelf& shelf, Loop& loop, JobRecord record, Say say);
  ~Recorder() override;

  void started(const TaskReport&) override {}
  void log(const TaskId&, std::string_view) override {}
  void progress(const TaskId& task, const Progress& progress) override;
  void ended(const TaskReport&) override {}
  void restarts(const TaskReport&, double) override {}
  void note(std::string_view) override {}

  // A controller takes over, or begins: who looks after a detached job is known before it acts.
  void begin(const JobState& state);
  // The controller's state has changed.
  void save(const JobState& state);
  // The job has ended.
  void finish(const JobState& state, const JobReport& report);

 private:
  void write();
  void write_soon();

  JobShelf& shelf_;
  Loop& loop_;
  JobRecord record_;
  Say say_;
  StepRates rates_;
  Loop::TimerId timer_ = 0;
  bool begun_ = false, timed_ = false, lost_ = false;
};

}  // namespace capstan::jobs
