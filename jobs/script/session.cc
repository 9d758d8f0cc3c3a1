#include "jobs/script/session.h"

#include "jobs/job_shelf.h"

namespace capstan::script {

Session::Session(Engine& engine, JobRunner& jobs, Paths paths, ScriptListener& listener)
    : engine(engine),
      jobs(jobs),
      paths(std::move(paths)),
      listener(listener),
      jobs_dir(jobs::shelf_dir()),
      clock([] { return std::time(nullptr); }) {}

std::string Session::fresh_name() {
  return std::string(kFreshNamePrefix) + std::to_string(++names_);
}

void Session::stop() {
  stopped_ = true;
  engine.interrupt();
  jobs.stop();
}

}  // namespace capstan::script
