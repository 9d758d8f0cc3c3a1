// Jobs of this machine, which other processes of this user look after.

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <deque>
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
#include "main/job_commands.h"

namespace capstan::cli {

double wall_clock() { return double(std::time(nullptr)); }

size_t table_width() { return isatty(STDOUT_FILENO) ? jobs::columns(STDOUT_FILENO) : 0; }

bool colours_wanted() { return isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR"); }

namespace here {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(50);
constexpr auto kSilence = std::chrono::seconds(5);  // nobody waits longer without a word
constexpr auto kFollowInterval = std::chrono::milliseconds(200);

void check_readable(const jobs::ShelvedJob& job) {
  if (!job.record) throw failed_precondition("{}", job.problem);
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

std::vector<jobs::TaskId> tasks_of(const jobs::JobRecord& record, const std::string& only) {
  if (!only.empty()) return {task_named(record, only)};
  std::vector<jobs::TaskId> tasks;
  for (const jobs::TaskReport& task : record.state.tasks) tasks.push_back(task.task);
  return tasks;
}

void check_logs_are_there(const jobs::ShelvedJob& job) {
  const std::string& folder = job.record->log_dir;
  if (folder.empty()) {
    throw not_found("job {} has ended well, and its logs were not kept; --log-dir keeps them",
                    job.id);
  }
  if (!posix_files().exists(folder)) {
    throw not_found("the logs of job {} are gone: {} is not there any more", job.id, folder);
  }
}

// The logs of tasks on standard output; of what is there at first only the last lines, if so asked.
class TaskLogs {
 public:
  TaskLogs(const std::string& folder, const std::vector<jobs::TaskId>& tasks,
           const LogsOptions& options)
      : tail_(options.tail), prefixes_(colours_wanted()) {
    for (const jobs::TaskId& task : tasks) {
      readers_.emplace_back(folder, std::vector{task}, [&](const jobs::TaskId& one) {
        return options.task.empty() ? prefixes_.of(one) : "";
      });
    }
  }

  void read(void (jobs::LogReader::*how)(const jobs::LogReader::Sink&)) {
    for (jobs::LogReader& reader : readers_) {
      std::deque<std::string> last;
      (reader.*how)([&](std::string_view line) {
        if (tail_ < 0) return fmt::print("{}\n", line);
        last.emplace_back(line);
        if (last.size() > size_t(tail_)) last.pop_front();
      });
      for (const std::string& line : last) fmt::print("{}\n", line);
    }
    tail_ = -1;
    std::fflush(stdout);
  }

 private:
  int tail_;
  jobs::TaskPrefixes prefixes_;
  std::deque<jobs::LogReader> readers_;
};

// " on HOST" for a job of another machine.
std::string where(const jobs::ShelvedJob& job) {
  return job.elsewhere ? " on " + job.record->host : "";
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

// What a job of this machine may come to; whether `state` is that.
bool is_reached(const std::string& condition, const std::string& state) {
  if (condition == "created") return true;
  if (condition == "running") return state != "unreadable";
  if (condition == "ended") return state != "running" && state != "elsewhere";
  if (condition == "succeeded") return state == "succeeded";
  if (condition == "failed") return state == "failed" || state == "stopped" || state == "lost";
  if (condition == "deleted") return false;
  throw invalid_argument(
      "--for={}: a job of this machine is created, running, ended, succeeded, failed or deleted, "
      "and never {}",
      condition, condition);
}

// A job that was deleted has no state.
std::string state_now(const jobs::JobShelf& all, const std::string& id) {
  if (!posix_files().exists(all.folder(id))) return "";
  return all.find(id).state();
}

int end_of_wait(const jobs::ShelvedJob& job, const std::string& condition) {
  say_end(job);
  if (is_reached(condition, job.state())) {
    return condition == "ended" && job.record ? job.record->exit_code : 0;
  }
  return job.record && job.record->exit_code != 0 ? job.record->exit_code : jobs::kExitFailure;
}

}  // namespace

int list(bool json) {
  const std::vector<jobs::ShelvedJob> all = jobs::users_shelf().list();
  if (json) {
    for (const jobs::ShelvedJob& job : all)
      fmt::print("{}\n", jobs::job_line_json(job, wall_clock()));
  } else if (all.empty()) {
    fmt::print("no jobs yet; capstan run starts one\n");
  } else {
    fmt::print("{}", jobs::jobs_table(all, wall_clock(), table_width()));
  }
  return 0;
}

int show(const jobs::ShelvedJob& job, bool json) {
  check_readable(job);
  fmt::print("{}",
             json ? jobs::status_json(job) + "\n"
                  : jobs::status_text(job, wall_clock(), table_width(), jobs::resident_memory));
  return 0;
}

int logs(const jobs::ShelvedJob& job, const LogsOptions& options) {
  check_readable(job);
  const std::vector<jobs::TaskId> tasks = tasks_of(*job.record, options.task);
  check_logs_are_there(job);
  TaskLogs logs(job.record->log_dir, tasks, options);
  // Whether it lives is asked before reading: what it wrote last is not missed.
  while (jobs::users_shelf().alive(job.id)) {
    logs.read(&jobs::LogReader::read);
    if (!options.follow) return 0;
    std::this_thread::sleep_for(kFollowInterval);
  }
  logs.read(&jobs::LogReader::finish);
  return 0;
}

int wait(const jobs::ShelvedJob& job, const WaitOptions& options) {
  const jobs::JobShelf all = jobs::users_shelf();
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
  };
  for (bool said = false;; std::this_thread::sleep_for(kLookInterval)) {
    const std::string state = state_now(all, job.id);
    const bool deleted = options.condition == "deleted";
    if (state.empty()) {
      fmt::print("{}: deleted\n", job.id);
      return deleted ? 0 : jobs::kExitFailure;
    }
    const bool over = state != "running" && state != "elsewhere" && !deleted;
    if (over || is_reached(options.condition, state)) {
      return end_of_wait(all.find(job.id), options.condition);
    }
    if (options.timeout > 0 && waited().count() >= options.timeout) {
      fmt::print(stderr, "{}: not {} after {} s: it is {}\n", job.id, options.condition,
                 options.timeout, state);
      return jobs::kExitTimeout;
    }
    if (said || waited() < kSilence) continue;
    said = true;
    fmt::print(stderr, "waiting for {} to be {}; it is {}\n", job.id, options.condition, state);
  }
}

void ask_to_stop(const jobs::ShelvedJob& job) {
  if (!job.over()) jobs::users_shelf().ask_to_stop(job.id);
}

// Whoever ends last may remove the records of others.
void wait_until_stopped(const std::string& id) {
  jobs::JobShelf all = jobs::users_shelf();
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

void remove(const jobs::ShelvedJob& job) {
  if (!job.over()) {
    throw failed_precondition("job {} runs{}; stop it first: capstan stop {}", job.id, where(job),
                              job.id);
  }
  jobs::JobShelf all = jobs::users_shelf();
  if (job.record) jobs::remove_with_logs(all, *job.record);
  all.remove(job.id);
  fmt::print("{}: removed\n", job.id);
}

}  // namespace here
}  // namespace capstan::cli
