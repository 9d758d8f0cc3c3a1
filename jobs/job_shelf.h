#pragma once

// The jobs of this user on this machine, running and ended: one folder for each, with its record,
// the lock that its process holds while it lives, and what others ask of it.

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "jobs/job_record.h"

namespace capstan::jobs {

struct ShelvedJob {
  std::string id;
  std::optional<JobRecord> record;
  std::string problem;     // why there is no record: damaged, of another version
  bool alive = false;      // somebody looks after it now
  bool elsewhere = false;  // on another machine that has the same home

  // "running", "succeeded", "failed", "stopped" (somebody asked for that), "lost" (nobody looks
  // after it, and it has not ended), "elsewhere" (the same, as far as can be seen from this
  // machine) or "unreadable".
  std::string state() const;
  // Nobody who could still write to it is left.
  bool over() const { return !alive && !(elsewhere && record && !record->done()); }
};

struct ShelfLimits {
  size_t jobs = 100;                   // that have ended
  uint64_t bytes = 256 * 1024 * 1024;  // of theirs, logs included
};

// Where the jobs of this user lie; empty without a home. users_shelf() is there.
std::string shelf_dir();

class JobShelf {
 public:
  // `dir` may be empty or absent: then there are no jobs.
  JobShelf(Files& files, std::string dir, ShelfLimits limits = {});

  // Newest first.
  std::vector<ShelvedJob> list() const;
  // By id, name, or the unique beginning of either; of several the only one that is alive. Throws
  // NotFound, or InvalidArgument that lists what it may be.
  ShelvedJob find(const std::string& text) const;

  // Makes the folder; the job counts as alive until the descriptor is closed. Throws what hinders
  // it.
  Fd create(const std::string& id);
  bool alive(const std::string& id) const;
  void write(const JobRecord& record);
  JobRecord read(const std::string& id) const;
  // Asks whoever looks after the job to stop it; the request stays until the job has ended.
  void ask_to_stop(const std::string& id);
  bool asked_to_stop(const std::string& id) const;
  void remove(const std::string& id);
  // Removes the jobs that ended first, down to the limits. Of one that is too large the logs go,
  // and the record stays.
  void prune();

  std::string folder(const std::string& id) const;
  std::string log_folder(const std::string& id) const;

 private:
  ShelvedJob look_at(const std::string& id) const;
  bool just_begun(const ShelvedJob& job) const;
  double ended_at(const ShelvedJob& job) const;
  std::vector<std::string> ended_last_first() const;
  void remove_if_dead(const std::string& id);
  uint64_t bytes_of(const std::string& id) const;

  Files& files_;
  const std::string dir_;
  const ShelfLimits limits_;
};

JobShelf users_shelf();

}  // namespace capstan::jobs
