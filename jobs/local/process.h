#pragma once

// One child process in a process group of its own. It dies with us, and whatever it started dies
// with it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"

namespace capstan::jobs {

struct ProcessOptions {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH if it has no slash
  std::vector<std::string> env;   // the whole environment, NAME=VALUE
  std::string cwd;                // empty: ours
  int input = -1;                 // becomes stdin; -1: /dev/null
  int output = -1;                // becomes stdout and stderr
  int cgroup = -1;                // cgroup.procs of the control group that it is to be in
  std::vector<int> inherit;       // kept open under the same numbers
};

struct ProcessEnd {
  int exit_code = 0;        // 128 + signal for one that a signal ended
  int signal = 0;           // 0: none did
  int64_t peak_memory = 0;  // bytes
};

class Process {
 public:
  // Throws NotFound, PermissionDenied, ResourceExhausted (no room for another process now) or
  // Internal, naming the program; Unavailable if it cannot be put into its control group.
  explicit Process(const ProcessOptions& options);
  ~Process();  // kills and reaps what still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int pid() const { return pid_; }
  // Readable once the process has ended.
  int wait_fd() const { return wait_fd_.get(); }
  void signal_group(int signal) const;
  // To be called once, after the end: kills what is left of the group, then reaps.
  ProcessEnd reap();

 private:
  int pid_ = -1;
  Fd wait_fd_;
};

// What marks every process of a job, NAME=VALUE, and every one of a single task of it.
std::string job_mark(const std::string& job_id);
std::string task_mark(const std::string& job_id, const std::string& task);

// Bytes of memory that a process has now; 0: it is gone, or not ours to see.
int64_t resident_memory(int pid);

// Of all processes of this machine.
std::vector<int> process_ids();

// Kills every process of ours whose initial environment holds `entry` (NAME=VALUE) until there is
// none, and reaps those that are our children.
void kill_processes_with(const std::string& entry);

}  // namespace capstan::jobs
