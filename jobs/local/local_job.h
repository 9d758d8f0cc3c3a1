#pragma once

// A whole job on this machine, waited for: a controller over local processes.
// What it starts dies with it.

#include <functional>
#include <string>

#include "jobs/local/local_platform.h"
#include "jobs/local/log_folder.h"
#include "jobs/output_queue.h"
#include "jobs/poll_loop.h"
#include "jobs/watched_job.h"

namespace capstan::jobs {

struct LocalOptions {
  // Where each task's log is kept. Empty: in the user's state folder, and only after a failure.
  std::string log_dir;
  // A signalfd, or -1: the first signal stops the job in order, a second one at once.
  int signal_fd = -1;
  std::function<void()> tick;     // about five times a second while the job runs
  OutputQueue* output = nullptr;  // while it is full, what tasks print is not read
  ControllerOptions controller;
};

class LocalJob {
 public:
  LocalJob(PollLoop& loop, const JobSpec& spec, LocalOptions options, JobObserver& observer);
  ~LocalJob();

  // Returns when nothing of the job is left. Throws only if the job could not be started.
  JobReport run();
  // Stops the running job in order. From any thread.
  void stop();

 private:
  void read_signals();
  void tick();

  bool take_place(JobObserver& observer);
  JobRecord record_of(const JobSpec& spec) const;
  void leave(const JobReport& report);

  const LocalOptions options_;
  const std::string id_;
  PollLoop& loop_;
  LogFolder logs_;
  LocalPlatform platform_;
  JobShelf shelf_;
  Fd alive_;  // as others see it
  const bool recorded_;
  Loop::TimerId ticking_ = 0;
  WatchedJob job_;
};

}  // namespace capstan::jobs
