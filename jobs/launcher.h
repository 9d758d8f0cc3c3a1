#pragma once

// The one interface of everything that starts a job and watches it to its end: local processes
// now, other platforms later. What happens is told to a JobObserver as it happens.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_spec.h"

namespace capstan::jobs {

// Exit codes of a job; docs/guide/exit-codes.md.
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitTimeout = 124;
constexpr int kExitSignalBase = 128;

enum class TaskState { kRunning, kSucceeded, kFailed, kStopped };

struct TaskReport {
  TaskId task;
  std::string host;
  uint16_t port = 0;  // 0: the task is not in the cluster spec
  int pid = 0;
  TaskState state = TaskState::kRunning;
  int exit_code = 0;  // 128 + signal for a task that a signal ended
  int signal = 0;     // 0: none did
  double seconds = 0;
  int64_t peak_memory = 0;  // bytes
  std::string error;        // the first error that the task told, or empty

  bool done() const { return state != TaskState::kRunning; }
  bool success() const { return state == TaskState::kSucceeded; }
};

// "SIGKILL"
std::string signal_name(int signal);
// "exit code 3", "SIGKILL"
std::string end_text(const TaskReport& task);

struct JobReport {
  int exit_code = 0;
  std::string reason;                   // empty after success; one sentence otherwise
  std::optional<size_t> cause;          // index of the task that failed first
  std::vector<std::string> last_lines;  // of the cause
  std::string log_dir;                  // empty if no logs were kept
  std::vector<TaskReport> tasks;
};

struct Progress {
  int64_t step = 0;
  std::optional<double> loss;
  int64_t last_step = 0;  // 0: unknown
};

// Called on the thread that runs the job, in the order of events.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void started(const TaskReport& task) = 0;
  virtual void log(const TaskId& task, std::string_view line) = 0;
  virtual void progress(const TaskId& task, const Progress& progress) = 0;
  virtual void ended(const TaskReport& task) = 0;
  // The launcher's own words: waiting, stopping.
  virtual void note(std::string_view text) = 0;
  // About five times a second while the job runs.
  virtual void tick() = 0;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Returns when nothing of the job is left. Throws only if the job could not be started.
  virtual JobReport run(const JobSpec& spec, JobObserver& observer) = 0;
  // Stops the running job in order. From any thread.
  virtual void stop() = 0;
};

}  // namespace capstan::jobs
