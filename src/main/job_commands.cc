// `capstan jobs | status | logs | stop | rm`: jobs that other processes of this user look after.

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/settings.h"
#include "jobs/job_shelf.h"
#include "jobs/job_view.h"
#include "jobs/local/log_reader.h"
#include "jobs/local/lost_job.h"
#include "jobs/local/process.h"
#include "jobs/terminal.h"
#include "main/options.h"

namespace capstan::cli {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(50);
constexpr auto kSilence = std::chrono::seconds(5);  // nobody waits longer without a word
constexpr auto kFollowInterval = std::chrono::milliseconds(200);

double wall_clock() { return double(std::time(nullptr)); }

// A table in a pipe is for programs: nothing is cut.
size_t width() { return isatty(STDOUT_FILENO) ? jobs::columns(STDOUT_FILENO) : 0; }

jobs::ShelvedJob readable(const std::string& text) {
  jobs::ShelvedJob job = jobs::users_shelf().find(text);
  if (!job.record) throw failed_precondition("{}", job.problem);
  return job;
}

void say_end(const jobs::ShelvedJob& job) {
  const std::string why = job.record ? job.record->reason : job.problem;
  fmt::print("{}: {}{}{}\n", job.id, job.state(), why.empty() ? "" : ": ", printable(why));
}

jobs::TaskId task_named(const jobs::JobRecord& record, const std::string& name) {
  std::string known;
  for (const jobs::TaskReport& task : record.state.tasks) {
    if (task.task.name() == name) return task.task;
    known += (known.empty() ? "" : ", ") + task.task.name();
  }
  throw not_found("job {} has no task {}; it has {}", record.id, name, known);
}

// " on HOST" for a job of another machine.
std::string where(const jobs::ShelvedJob& job) {
  return job.elsewhere ? " on " + job.record->host : "";
}

void ask_to_stop(jobs::JobShelf& all, const std::string& id) {
  if (!all.find(id).over()) all.ask_to_stop(id);
}

void wait_while_alive(const jobs::JobShelf& all, const std::string& id) {
  const auto begin = std::chrono::steady_clock::now();
  for (bool said = false; all.alive(id); std::this_thread::sleep_for(kLookInterval)) {
    if (said || std::chrono::steady_clock::now() - begin < kSilence) continue;
    said = true;
    fmt::print(stderr, "{} has been asked to stop; waiting for it to end (capstan status {})\n", id,
               id);
  }
}

// Whoever ends last may remove the records of others.
void wait_for_end(jobs::JobShelf& all, const std::string& id) {
  wait_while_alive(all, id);
  if (!posix_files().exists(all.folder(id))) {
    fmt::print("{}: has ended, and its record has made room for newer ones\n", id);
    return;
  }
  jobs::ShelvedJob job = all.find(id);
  if (job.state() == "elsewhere") {
    fmt::print("{}: has been asked to stop{}, and cannot be seen from here\n", id, where(job));
    return;
  }
  if (job.state() == "lost") jobs::bury_lost_job(all, *job.record);
  say_end(all.find(id));
}

}  // namespace

int show_jobs(const JobsOptions& options) {
  const std::vector<jobs::ShelvedJob> all = jobs::users_shelf().list();
  if (options.json) {
    for (const jobs::ShelvedJob& job : all)
      fmt::print("{}\n", jobs::job_line_json(job, wall_clock()));
  } else if (all.empty()) {
    fmt::print("no jobs yet; capstan run starts one\n");
  } else {
    fmt::print("{}", jobs::jobs_table(all, wall_clock(), width()));
  }
  return 0;
}

int show_status(const JobsOptions& options) {
  const jobs::ShelvedJob job = readable(options.jobs[0]);
  fmt::print("{}", options.json
                       ? jobs::status_json(job) + "\n"
                       : jobs::status_text(job, wall_clock(), width(), jobs::resident_memory));
  return 0;
}

int show_logs(const LogsOptions& options) {
  const jobs::ShelvedJob job = readable(options.job);
  std::vector<jobs::TaskId> tasks;
  for (const jobs::TaskReport& task : job.record->state.tasks) {
    if (options.task.empty()) tasks.push_back(task.task);
  }
  if (!options.task.empty()) tasks = {task_named(*job.record, options.task)};
  if (job.record->log_dir.empty()) {
    throw not_found("job {} has ended well, and its logs were not kept; --log-dir keeps them",
                    job.id);
  }
  if (!posix_files().exists(job.record->log_dir)) {
    throw not_found("the logs of job {} are gone: {} is not there any more", job.id,
                    job.record->log_dir);
  }
  jobs::LogReader reader(job.record->log_dir, tasks, /*prefixed=*/options.task.empty());
  // Whether it lives is asked before reading: what it wrote last is not missed.
  auto print = [](std::string_view line) { fmt::print("{}\n", line); };
  while (jobs::users_shelf().alive(job.id)) {
    reader.read(print);
    std::fflush(stdout);
    if (!options.follow) return 0;
    std::this_thread::sleep_for(kFollowInterval);
  }
  reader.finish(print);
  return 0;
}

int stop_jobs(const JobsOptions& options) {
  jobs::JobShelf all = jobs::users_shelf();
  std::vector<std::string> ids;
  for (const std::string& text : options.jobs) ids.push_back(all.find(text).id);
  for (const std::string& id : ids) ask_to_stop(all, id);
  for (const std::string& id : ids) wait_for_end(all, id);
  return 0;
}

int remove_jobs(const JobsOptions& options) {
  jobs::JobShelf all = jobs::users_shelf();
  for (const std::string& text : options.jobs) {
    const jobs::ShelvedJob job = all.find(text);
    if (!job.over()) {
      throw failed_precondition("job {} runs{}; stop it first: capstan stop {}", job.id, where(job),
                                job.id);
    }
    if (job.record) jobs::remove_with_logs(all, *job.record);
    all.remove(job.id);
    fmt::print("{}: removed\n", job.id);
  }
  return 0;
}

}  // namespace capstan::cli
