#pragma once

// Where the logs of a job are written while it runs, and what becomes of them.

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "jobs/job_spec.h"

namespace capstan::jobs {

// The folder is ours until the descriptor is closed in every process that has it. Throws
// FailedPrecondition if another job writes there. Empty where the file system has no locks.
Fd lock_log_folder(const std::string& path);

class LogFolder {
 public:
  // `wanted` if not empty, else a new folder for the job below the user's state folder. Throws if
  // `wanted` cannot be made or is in use; without a writable state folder there are simply no
  // files.
  LogFolder(const std::string& wanted, const std::string& job_id);
  ~LogFolder();  // removes the folder unless it was wanted or kept
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  // Empty if there are no files.
  std::string file_for(const TaskId& task) const;
  std::string keep();
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
  Fd lock_;
  bool keep_ = false;
};

}  // namespace capstan::jobs
