#include "jobs/job_shelf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/settings.h"

namespace capstan::jobs {
namespace {

constexpr const char* kRecord = "record.json";
constexpr const char* kLock = "lock";
constexpr const char* kStop = "stop";
constexpr const char* kLogs = "logs";
constexpr int64_t kBeginning = 60;  // seconds
constexpr uint64_t kLargestRecord = 16 * 1024 * 1024;

bool is_id(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// What others remove while we count has no bytes.
uint64_t bytes_below(Files& files, const std::string& dir) {
  uint64_t bytes = 0;
  try {
    for (const std::string& name : files.list(dir)) {
      const std::string path = join_path(dir, name);
      const auto info = files.stat(path);
      if (info) bytes += info->is_dir ? bytes_below(files, path) : info->size;
    }
  } catch (const Error&) {
  }
  return bytes;
}

std::string listed(const std::vector<ShelvedJob>& jobs) {
  std::vector<std::string> texts;
  for (const ShelvedJob& job : jobs) {
    texts.push_back(
        fmt::format("{} ({}, {})", job.id, job.record ? job.record->name : "?", job.state()));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string ShelvedJob::state() const {
  if (!record) return "unreadable";
  if (!record->done()) return alive ? "running" : elsewhere ? "elsewhere" : "lost";
  if (record->exit_code == 0) return "succeeded";
  const auto& stop = record->state.stop;
  const bool asked = record->cause.empty() && stop && stop->exit_code > kExitSignalBase;
  return asked ? "stopped" : "failed";
}

std::string shelf_dir() {
  const std::string state = state_dir_from_environment();
  return state.empty() ? "" : join_path(state, "jobs");
}

JobShelf users_shelf() { return {posix_files(), shelf_dir()}; }

JobShelf::JobShelf(Files& files, std::string dir, ShelfLimits limits)
    : files_(files), dir_(std::move(dir)), limits_(limits) {}

std::string JobShelf::folder(const std::string& id) const { return join_path(dir_, id); }
std::string JobShelf::log_folder(const std::string& id) const {
  return join_path(folder(id), kLogs);
}

std::vector<ShelvedJob> JobShelf::list() const {
  std::vector<ShelvedJob> jobs;
  if (dir_.empty() || !files_.exists(dir_)) return jobs;
  for (const std::string& id : files_.list(dir_)) {
    if (is_id(id)) jobs.push_back(look_at(id));
  }
  auto created = [](const ShelvedJob& job) { return job.record ? job.record->created : 0; };
  std::ranges::stable_sort(jobs, std::greater<>(), created);
  return jobs;
}

ShelvedJob JobShelf::look_at(const std::string& id) const {
  ShelvedJob job{.id = id};
  // In this order: a job that ends in between is not taken for one that is lost.
  job.alive = alive(id);
  try {
    job.record = read(id);
    job.elsewhere = !job.record->host.empty() && job.record->host != host_name();
  } catch (const Error& error) {
    job.problem = error.message();
  }
  return job;
}

ShelvedJob JobShelf::find(const std::string& text) const {
  std::vector<ShelvedJob> same, alike;
  std::vector<std::string> known;
  for (ShelvedJob& job : list()) {
    const std::string name = job.record ? job.record->name : "";
    known.insert(known.end(), {job.id, name});
    if (job.id == text) return job;
    if (name == text) same.push_back(job);
    if (job.id.starts_with(text) || name.starts_with(text)) alike.push_back(std::move(job));
  }
  std::vector<ShelvedJob>& found = same.empty() ? alike : same;
  if (text.empty() || found.empty()) {
    throw not_found("no job {}{}; capstan jobs lists them", text, did_you_mean(text, known));
  }
  if (found.size() == 1) return found[0];
  if (std::ranges::count_if(found, &ShelvedJob::alive) == 1) {
    return *std::ranges::find_if(found, &ShelvedJob::alive);
  }
  found.resize(std::min<size_t>(found.size(), 5));
  throw invalid_argument("{} may be {}; give more of the id", text, listed(found));
}

// For this user's eyes: records hold arguments and the last lines of programs.
Fd JobShelf::create(const std::string& id) {
  if (dir_.empty()) throw failed_precondition("there is no home: set CAPSTAN_STATE_DIR");
  files_.make_dirs(folder(id));
  ::chmod(folder(id).c_str(), 0700);
  const std::string path = join_path(folder(id), kLock);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  // Somebody who looks whether we are alive may hold it for a moment.
  if (fd && ::flock(fd.get(), LOCK_EX) == 0) return fd;
  throw unavailable("{}: {}", path, std::strerror(errno));
}

bool JobShelf::alive(const std::string& id) const {
  Fd fd(::open(join_path(folder(id), kLock).c_str(), O_RDONLY | O_CLOEXEC));
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0;
}

void JobShelf::write(const JobRecord& record) {
  write_atomically(files_, join_path(folder(record.id), kRecord), to_json(record));
}

JobRecord JobShelf::read(const std::string& id) const {
  const std::string path = join_path(folder(id), kRecord);
  try {
    const auto info = files_.stat(path);
    if (info && info->size > kLargestRecord) throw data_loss("it is damaged (too large)");
    return record_from_json(files_.read(path));
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("the record {} cannot be used: {}; capstan rm {} removes it", path,
                            error.message(), id));
  }
}

void JobShelf::ask_to_stop(const std::string& id) {
  write_atomically(files_, join_path(folder(id), kStop), "stop\n");
}

bool JobShelf::asked_to_stop(const std::string& id) const {
  return files_.exists(join_path(folder(id), kStop));
}

void JobShelf::remove(const std::string& id) { files_.remove_all(folder(id)); }

// Its folder is there, and it has not come to its lock and its record yet.
bool JobShelf::just_begun(const ShelvedJob& job) const {
  if (files_.exists(join_path(folder(job.id), kRecord))) return false;
  const auto info = files_.stat(folder(job.id));
  return info && info->modified_ns / 1'000'000'000 + kBeginning > ::time(nullptr);
}

// On the wall's clock; of one that has no end, when it last changed.
double JobShelf::ended_at(const ShelvedJob& job) const {
  if (job.record && job.record->done()) return job.record->wall(job.record->state.ended);
  const auto record = files_.stat(join_path(folder(job.id), kRecord));
  const auto info = record ? record : files_.stat(folder(job.id));
  return info ? double(info->modified_ns) / 1e9 : 0;
}

std::vector<std::string> JobShelf::ended_last_first() const {
  std::vector<std::pair<double, std::string>> ended;
  for (const ShelvedJob& job : list()) {
    if (job.over() && !just_begun(job)) ended.emplace_back(ended_at(job), job.id);
  }
  std::ranges::stable_sort(ended, std::greater<>(), &std::pair<double, std::string>::first);
  std::vector<std::string> ids;
  for (auto& [time, id] : ended) ids.push_back(std::move(id));
  return ids;
}

uint64_t JobShelf::bytes_of(const std::string& id) const { return bytes_below(files_, folder(id)); }

void JobShelf::remove_if_dead(const std::string& id) {
  if (!alive(id)) remove(id);
}

void JobShelf::prune() {
  if (files_.list(dir_).size() <= limits_.jobs && bytes_below(files_, dir_) <= limits_.bytes)
    return;
  size_t kept = 0;
  uint64_t bytes = 0;
  for (const std::string& id : ended_last_first()) {
    if (kept == limits_.jobs) {
      remove_if_dead(id);
      continue;
    }
    uint64_t size = bytes_of(id);
    if (bytes + size > limits_.bytes) {
      files_.remove_all(log_folder(id));
      size = bytes_of(id);
    }
    if (bytes + size > limits_.bytes) {
      remove_if_dead(id);
      continue;
    }
    bytes += size;
    ++kept;
  }
}

}  // namespace capstan::jobs
