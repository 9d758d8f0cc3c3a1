#pragma once

// Where the logs of a job are written while it runs, and what becomes of them.

#include <filesystem>
#include <string>

#include "jobs/job_spec.h"

namespace capstan::jobs {

class LogFolder {
 public:
  // `wanted` if not empty, else a new folder below the user's state folder. Throws if `wanted`
  // cannot be made; without a writable state folder there are simply no files.
  explicit LogFolder(const std::string& wanted);
  ~LogFolder();  // removes the folder unless it was wanted or kept
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  // Empty if there are no files.
  std::string file_for(const TaskId& task) const;
  std::string keep();
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool keep_ = false;
};

}  // namespace capstan::jobs
