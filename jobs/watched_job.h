#pragma once

// A job with its record: a controller, what is remembered of it on disk, and an ear for what other
// processes of this user ask (`capstan stop`).

#include <functional>
#include <optional>
#include <string>

#include "jobs/job_controller.h"
#include "jobs/job_shelf.h"
#include "jobs/observers.h"
#include "jobs/recorder.h"

namespace capstan::jobs {

// Who, what and where, of a job that begins now. `spec` is complete.
JobRecord new_record(const JobSpec& spec, std::string id);

class WatchedJob {
 public:
  // Goes on with what the record holds; a record without tasks begins. All that is given lives
  // longer than this. Without `shelf` the job has no record.
  WatchedJob(JobShelf* shelf, const JobRecord& record, const JobSpec& spec, const Cluster& cluster,
             Platform& platform, Loop& loop, JobObserver& observer, ControllerOptions options = {});
  ~WatchedJob();

  void start();
  JobController& controller() { return controller_; }
  bool done() const { return controller_.done(); }
  // After the end: what came of it, which is the last thing that is recorded.
  void finish(const JobReport& report);

 private:
  void look_for_a_stop();
  bool is_asked_to_stop();

  JobShelf* const shelf_;
  const std::string id_;
  Loop& loop_;
  Loop::TimerId timer_ = 0;
  bool said_ = false;
  std::optional<Recorder> recorder_;
  Observers observers_;
  JobController controller_;
};

}  // namespace capstan::jobs
