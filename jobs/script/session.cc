#include "jobs/script/session.h"

#include "jobs/job_shelf.h"
#include "jobs/random_hex.h"

namespace capstan::script {
namespace {

std::string uuid() {
  std::string text = jobs::random_hex(16);
  for (size_t at : {8, 13, 18, 23}) text.insert(at, "-");
  return text;
}

}  // namespace

Session::Session(Engine& engine, JobRunner& jobs, Paths paths, ScriptListener& listener)
    : engine(engine),
      jobs(jobs),
      paths(std::move(paths)),
      listener(listener),
      group_id(uuid()),
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
