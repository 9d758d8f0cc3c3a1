#pragma once

// Training jobs of a script as processes of this machine.

#include <mutex>
#include <string>

#include "jobs/local/local_job.h"
#include "jobs/script/session.h"

namespace capstan::jobs {

struct LocalRunnerOptions {
  std::string python;       // Capstan's own interpreter
  std::string python_path;  // of tasks: our packages, then the user's
};

class LocalRunner : public script::JobRunner {
 public:
  explicit LocalRunner(LocalRunnerOptions options) : options_(std::move(options)) {}

  script::Capacity capacity() const override;
  JobReport run(const JobSpec& spec, JobObserver& observer) override;
  // For good: a job that is to run after it ends with Cancelled.
  void stop() override;
  std::string find_python(const std::string& env, bool required,
                          const std::function<void(std::string_view)>& said) const override;
  std::string python_path() const override { return options_.python_path; }

 private:
  void set_running(LocalJob* job);

  const LocalRunnerOptions options_;
  std::mutex mutex_;
  LocalJob* running_ = nullptr;
  bool stopped_ = false;
};

}  // namespace capstan::jobs
