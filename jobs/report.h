#pragma once

// What is known of a job and its tasks, and who is told of it as it happens. A controller remembers
// nothing else, so that another one can go on from it (jobs/job_record.h keeps it on disk).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "jobs/job_spec.h"

namespace capstan::jobs {

// Exit codes of a job; docs/guide/exit-codes.md.
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitTimeout = 124;
constexpr int kExitSignalBase = 128;

// Codes of errors that are not a task's own words: nothing is seen of it any more; it had more
// memory than its limit allows.
inline constexpr std::string_view kLost = "Lost", kOverMemory = "OverMemory";

enum class TaskState { kWaiting, kRunning, kSucceeded, kFailed, kStopped };

struct Progress {
  int64_t step = 0;
  std::optional<double> loss;
  int64_t last_step = 0;  // 0: unknown

  // A loss that is no number is the same as itself.
  bool operator==(const Progress& other) const {
    const bool both_nan = loss && other.loss && *loss != *loss && *other.loss != *other.loss;
    return step == other.step && last_step == other.last_step && (both_nan || loss == other.loss);
  }
};

// One try of a task that came to nothing, and was followed by another.
struct Attempt {
  int number = 0;
  std::string why;   // "SIGKILL", "exit code 1: lost ps/0"
  int64_t step = 0;  // how far it came
  double started = 0, ended = 0;
};

// Times are seconds of the loop's clock; 0: not yet.
struct TaskReport {
  TaskId task;
  std::string host;
  uint16_t port = 0;  // 0: the task is not in the cluster spec
  int pid = 0;
  TaskState state = TaskState::kWaiting;
  int attempt = 1;
  int exit_code = 0;  // 128 + signal for a task that a signal ended
  int signal = 0;     // 0: none did
  double seconds = 0;
  int64_t peak_memory = 0;   // bytes
  int64_t memory_limit = 0;  // bytes; 0: none
  std::string error;         // the first error that the task told, or empty
  std::string error_code;    // of it, as "Unavailable"
  double started = 0, ended = 0;
  double failed_at = 0;           // when it failed, for the order of causes
  double start_at = 0;            // of a task that waits: not before
  double asked_at = 0;            // when it was asked to stop
  std::vector<Attempt> attempts;  // those before this one
  int restarts = 0;               // counted ones, up to the beginning of this attempt
  int in_place = 0;               // that the platform made since then
  Progress progress;
  double steps_per_second = 0;  // of late; only a record has it

  bool done() const { return state > TaskState::kRunning; }
  bool success() const { return state == TaskState::kSucceeded; }
  bool over_memory() const { return memory_limit > 0 && error_code == kOverMemory; }
};

// "SIGKILL"
std::string signal_name(int signal);
// "exit code 3", "SIGKILL", "over its memory limit of 2 GiB"
std::string end_text(const TaskReport& task);

// "step 120/500  loss 0.31  810 steps/s  4 tasks  ETA 1 s"
std::string progress_text(const Progress& progress, double steps_per_second, int live_tasks);

// Why a job is being stopped. The first reason stays.
struct StopReason {
  double at = 0;      // before this moment a failure waits for an earlier one to show
  std::string text;   // empty: the failed task says it
  int exit_code = 0;  // 0: the cause's own
  bool at_once = false;
  bool limit = false;  // a limit of the job is reached: its deadline, its restarts
};

// All that a controller has to remember.
struct JobState {
  double started = 0, trained = 0, ended = 0;
  std::optional<StopReason> stop;
  int restarts = 0;     // of the job's budget, without those in place of the present attempts
  double incident = 0;  // when the last of them was counted
  std::vector<TaskReport> tasks;

  bool done() const { return ended > 0; }
};

struct JobReport {
  int exit_code = 0;
  std::string reason;                   // empty after success; one sentence otherwise
  std::optional<size_t> cause;          // index of the task that failed first
  std::vector<std::string> last_lines;  // of the cause
  std::optional<Error> start_error;     // the cause could not even be started
  std::string log_dir;                  // empty if no logs were kept
  std::vector<TaskReport> tasks;
};

// Called on the thread that runs the job, in the order of events.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void started(const TaskReport& task) = 0;
  virtual void log(const TaskId& task, std::string_view line) = 0;
  virtual void progress(const TaskId& task, const Progress& progress) = 0;
  virtual void ended(const TaskReport& task) = 0;
  // The task failed, and is going to be started again; the last of its attempts says why.
  virtual void restarts(const TaskReport& task, double delay) = 0;
  // The controller's own words: waiting, stopping.
  virtual void note(std::string_view text) = 0;
};

}  // namespace capstan::jobs
