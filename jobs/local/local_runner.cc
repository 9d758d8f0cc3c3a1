#include "jobs/local/local_runner.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "jobs/local/machine.h"
#include "jobs/local/python_env.h"

namespace capstan::jobs {
namespace {

// Shorter than for a job of its own: whoever runs or stops a script waits for it.
constexpr ControllerOptions kImpatient{.stop_grace = 2, .server_grace = 3};

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool names_nothing(const std::string& env) { return env.empty() || env == ":"; }

}  // namespace

script::Capacity LocalRunner::capacity() const {
  return {.cores = usable_cores(), .free_memory = meminfo("MemAvailable")};
}

void LocalRunner::set_running(LocalJob* job) {
  std::lock_guard lock(mutex_);
  if (job && stopped_) throw cancelled("stopped before the training began");
  running_ = job;
}

JobReport LocalRunner::run(const JobSpec& spec, JobObserver& observer) {
  PollLoop loop;
  LocalJob job(loop, spec, {.controller = kImpatient}, observer);
  set_running(&job);
  struct Leave {
    LocalRunner& runner;
    ~Leave() { runner.set_running(nullptr); }
  } leave{*this};
  return job.run();
}

void LocalRunner::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  if (running_) running_->stop();
}

std::string LocalRunner::find_python(const std::string& env, bool required,
                                     const std::function<void(std::string_view)>& said) const {
  if (names_nothing(env)) return options_.python;
  const FoundPython found = find_python_env(env, from_environment);
  if (!found.path.empty()) {
    check_python_fits(found.path, options_.python_path);
    return found.path;
  }
  const std::string text = fmt::format("no Python environment {}; looked for bin/python in {}", env,
                                       fmt::join(found.places, ", "));
  if (required) throw not_found("{}", text);
  said(fmt::format("{}; {} runs the scripts instead", text, options_.python));
  return options_.python;
}

}  // namespace capstan::jobs
