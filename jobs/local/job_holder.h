#pragma once

// The process of a detached job that has its tasks: jobs/local/detached_job.h.

#include <string>

#include "base/fd.h"
#include "jobs/job_record.h"
#include "jobs/local/local_platform.h"
#include "jobs/local/platform_link.h"
#include "jobs/poll_loop.h"

namespace capstan::jobs {

class JobHolder {
 public:
  // `started` is told once whether all tasks could be started (jobs/local/start_news.h).
  JobHolder(JobSpec spec, JobRecord record, Fd& started);
  ~JobHolder();

  // Returns when the job has ended.
  void run();

 private:
  void start_controller();
  bool fork_controller();
  void start_controller_later();
  void on_controller_end();
  void pass_on_the_stop();
  void tell_start();

  const JobSpec spec_;
  const JobRecord record_;
  Fd& started_;
  PollLoop loop_;
  LocalPlatform platform_;
  const Cluster cluster_;
  PlatformServer server_;
  const Fd signals_;
  int controller_ = -1;
  Fd controller_end_;
  Deadline controller_start_;
  std::chrono::milliseconds delay_;
  bool done_ = false;
  bool asked_to_stop_ = false;  // by a signal
};

}  // namespace capstan::jobs
