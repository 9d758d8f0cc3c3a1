#include "jobs/local/local_platform.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/secret_fd.h"
#include "jobs/local/children.h"
#include "jobs/local/process.h"
#include "jobs/random_hex.h"
#include "jobs/secret_file.h"

namespace capstan::jobs {
namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr auto kReapInterval = std::chrono::seconds(1);
// As shells say it of a program that is not there, and of one that cannot be run.
constexpr int kExitNotFound = 127, kExitNotRun = 126;

// Our own environment without what an outer job put there.
std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> env;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text(*entry);
    size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const char* name : {"CAPSTAN_LISTEN_FD", "CAPSTAN_TASK_FD", "CAPSTAN_SECRET_FD",
                           "CAPSTAN_SECRET", "CAPSTAN_JOB_ID", "CAPSTAN_TASK_ID"}) {
    env.erase(name);
  }
  return env;
}

// Daemons that a task leaves behind become our children, and are found by their environment.
std::string adopt_daemons(std::string mark) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return mark;
}

}  // namespace

std::string memory_note(const JobSpec& spec, const CgroupPlace& cgroups) {
  if (spec.memory.empty() || !cgroups.folder.empty()) return "";
  return fmt::format(
      "{}: --memory is kept by looking once a second instead, and a task above its "
      "limit is killed",
      cgroups.why_not);
}

LocalPlatform::LocalPlatform(PollLoop& loop, const JobSpec& spec,
                             const LocalPlatformOptions& options)
    : loop_(loop),
      groups_(spec.groups),
      job_id_(options.job_id),
      mark_(adopt_daemons(job_mark(job_id_))),
      cgroups_(options.cgroups),
      secret_(secret_as_fd(random_hex(32))),
      keeper_(mark_, [this] { sweep(); }),
      memory_(loop) {
  for (const TaskId& task : tasks_of(spec)) {
    places_.push_back(std::make_unique<Place>());
    Place& place = *places_.back();
    place.task = task;
    place.log = std::make_unique<TaskLog>(
        options.log_file(task), [this, &place](std::string_view line) { on_line(place, line); },
        options.largest_log);
    if (role_of(task.job) != Role::kEvaluator) place.held = hold_free_port();
  }
  reap();
}

// Daemons that tasks leave behind end here, too.
void LocalPlatform::reap() {
  reap_orphans();
  reaping_ = loop_.at(loop_.now() + kReapInterval, [this] { reap(); });
}

LocalPlatform::~LocalPlatform() {
  loop_.cancel(reaping_);
  places_.clear();
  if (clean_) return;
  kill_processes_with(mark_);
  sweep();
}

// What is neither a process nor goes with one.
void LocalPlatform::sweep() const {
  remove_cgroups(cgroups_.folder, job_id_);
  remove_secret_file(job_id_);
}

Cluster LocalPlatform::cluster() const {
  Cluster cluster;
  for (const TaskGroup& group : groups_) {
    std::vector<std::string> addresses;
    for (const auto& place : places_) {
      if (place->task.job != group.job || !place->held.bound) continue;
      addresses.push_back(fmt::format("{}:{}", kHost, place->held.port));
    }
    if (!addresses.empty()) cluster.emplace_back(group.job, std::move(addresses));
  }
  return cluster;
}

void LocalPlatform::start(const TaskSpec& spec, int attempt) {
  Place& at = place(spec.task);
  CAPSTAN_CHECK(!at.running || at.running->status.ended);
  // What the last attempt left behind, in whatever session, may hold its port and its files.
  if (std::exchange(at.running, nullptr)) kill_processes_with(task_mark(job_id_, spec.task.name()));
  at.failed = {.task = spec.task, .attempt = attempt, .host = kHost, .port = at.held.port};
  try {
    at.running = begin(at, spec);
    at.running->hold_output(held_);
    at.running->status.attempt = attempt;
    at.running->status.host = kHost;
    at.running->status.port = at.held.port;
  } catch (const Error& error) {
    at.failed.ended = true;
    at.failed.started_at = at.failed.ended_at = seconds_of(loop_.now());
    at.failed.exit_code = error.code() == Code::kNotFound ? kExitNotFound : kExitNotRun;
    at.failed.start_error = error;
  }
}

std::unique_ptr<LocalTask> LocalPlatform::begin(Place& place, const TaskSpec& spec) {
  if (place.held.bound && !place.held.listener) place.held.listen();
  LocalTask::Sink sink{.changed =
                           [this] {
                             if (watcher_) watcher_->changed();
                           },
                       .progress =
                           [this, &place] {
                             if (watcher_) {
                               watcher_->progress(place.task, place.running->status.told.progress);
                             }
                           }};
  auto task = std::make_unique<LocalTask>(loop_, *place.log, spec, surroundings(place, spec),
                                          std::move(sink));
  place.held.listener.reset();  // so that peers see it when the task dies
  return task;
}

LocalSurroundings LocalPlatform::surroundings(const Place& place, const TaskSpec& spec) {
  LocalSurroundings around{.env = environment(spec), .listener = place.held.listener.get()};
  if (spec.secret == SecretBy::kDescriptor) around.secret = secret_.get();
  if (spec.memory_limit && !cgroups_.folder.empty()) {
    around.cgroup = cgroup_folder(cgroups_.folder, job_id_, spec.task.name());
  }
  around.watch = &memory_;
  return around;
}

std::vector<std::string> LocalPlatform::environment(const TaskSpec& spec) {
  std::map<std::string, std::string> env = own_environment();
  for (const auto& [name, value] : spec.env) env[name] = value;
  auto works = [](const auto& place) { return role_of(place->task.job) != Role::kServer; };
  const auto workers = std::max<int64_t>(1, std::ranges::count_if(places_, works));
  env["CAPSTAN_WORKERS_ON_HOST"] = std::to_string(workers);
  if (spec.secret == SecretBy::kFile) {
    if (secret_file_.empty()) {
      secret_file_ = make_secret_file(job_id_, secret_of_fd(secret_.get()));
    }
    env["CAPSTAN_SECRET_FILE"] = secret_file_;
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : env) entries.push_back(name + "=" + value);
  entries.push_back(mark_);
  entries.push_back(task_mark(job_id_, spec.task.name()));
  return entries;
}

void LocalPlatform::on_line(Place& place, std::string_view line) {
  if (watcher_) watcher_->log(place.task, line);
  if (place.running) place.running->on_line(line);
}

void LocalPlatform::hold_output(bool held) {
  held_ = held;
  for (const auto& place : places_) {
    if (place->running) place->running->hold_output(held);
  }
}

LocalPlatform::Place& LocalPlatform::place(const TaskId& task) const {
  auto found = std::ranges::find_if(places_, [&](const auto& p) { return p->task == task; });
  CAPSTAN_CHECK(found != places_.end());
  return **found;
}

void LocalPlatform::stop(const TaskId& task, StopHow how) {
  if (Place& at = place(task); at.running) at.running->stop(how);
}

std::vector<TaskStatus> LocalPlatform::list() const {
  std::vector<TaskStatus> all;
  for (const auto& place : places_) {
    if (place->running) all.push_back(place->running->status);
    if (!place->running && place->failed.start_error) all.push_back(place->failed);
  }
  return all;
}

std::vector<std::string> LocalPlatform::last_lines(const TaskId& task) const {
  return place(task).log->last_lines();
}

void LocalPlatform::clean_up() {
  for (const auto& place : places_) place->held = {};
  kill_processes_with(mark_);
  sweep();
  clean_ = true;
}

}  // namespace capstan::jobs
