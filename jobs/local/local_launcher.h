#pragma once

// A whole cluster as processes of this machine. Ports are held from the start, logs are merged,
// the first failure in time is the cause, and nothing of the job is left after it.

#include <string>

#include "base/fd.h"
#include "jobs/launcher.h"

namespace capstan::jobs {

struct LocalOptions {
  // Where each task's log is kept. Empty: in the user's state folder, and only after a failure.
  std::string log_dir;
  // A signalfd, or -1: the first signal stops the job in order, a second one at once.
  int signal_fd = -1;
  double stop_grace = 5;        // from SIGTERM to SIGKILL, seconds
  double serving_grace = 1;     // for a task that only serves to end by itself after the training
  double server_grace = 10;     // the same for a ps that did not say so
  double evaluator_grace = 60;  // the same for an evaluator
};

class LocalLauncher : public Launcher {
 public:
  explicit LocalLauncher(LocalOptions options);

  JobReport run(const JobSpec& spec, JobObserver& observer) override;
  void stop() override;

 private:
  LocalOptions options_;
  Fd wake_;
};

}  // namespace capstan::jobs
