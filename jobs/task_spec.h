#pragma once

// One task, ready to be started wherever there is a Platform.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/job_spec.h"

namespace capstan::jobs {

// A file that the task finds in its folder.
struct TaskFile {
  std::string path;  // relative, and stays below the task's folder
  std::string bytes;
};

struct TaskSpec {
  TaskId task;
  std::vector<std::string> argv;
  // Beside the environment that the platform itself gives.
  std::vector<std::pair<std::string, std::string>> env;
  std::string cwd;    // empty: the platform's own
  std::string input;  // handed over as stdin, which then ends
  std::vector<TaskFile> files;
  RestartPolicy restart = RestartPolicy::kOnFailure;
  // Bytes. A platform ends a task that has more, and says so: over_memory() in jobs/failure.h.
  std::optional<int64_t> memory_limit;
  SecretBy secret = SecretBy::kDescriptor;
};

// The task's role in TF_CONFIG, flags and templates; then what job.adjust makes of it.
TaskSpec task_spec(const JobSpec& job, const Cluster& cluster, const TaskId& task);

// Writes spec.files below `folder`. Throws InvalidArgument for a path that leads out of it.
void lay_out(const TaskSpec& spec, const std::string& folder);

}  // namespace capstan::jobs
