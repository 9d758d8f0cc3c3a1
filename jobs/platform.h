#pragma once

// Where the tasks of one job run: processes of this machine, and whatever else implements this. A
// platform starts, stops, lists and watches; it decides nothing, which is the controller's part.
// docs/extend.md says what a new one must give.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/loop.h"
#include "jobs/report.h"
#include "jobs/task_spec.h"

namespace capstan::jobs {

// Seconds of the loop's clock, which tasks on this machine use too when they tell of an error.
inline double seconds_of(Deadline time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}
// What the clock cannot hold is as far away as it can tell.
inline Deadline deadline_of(double seconds) {
  constexpr double kMost = 9e9;
  return Deadline(std::chrono::duration_cast<Deadline::duration>(
      std::chrono::duration<double>(std::min(seconds, kMost))));
}

struct TaskError {
  std::optional<double> time;  // of CLOCK_MONOTONIC, in seconds
  std::string code;
  std::string message;
};

// What a task says of itself.
struct TaskTold {
  bool serves = false;    // does nothing else from now on
  bool trained = false;   // and has trained before
  std::string waits_for;  // "chief", or nothing
  std::optional<TaskError> error;
  Progress progress;
};

// What is seen of the newest attempt of a task.
struct TaskStatus {
  TaskId task;
  int attempt = 0;
  bool ended = false;
  std::string host;
  uint16_t port = 0;
  int pid = 0;
  double started_at = 0, ended_at = 0;
  bool asked_to_stop = false;
  bool pending =
      false;         // begun, but does not run yet: no machine has room, or its files are fetched
  int restarts = 0;  // that the platform made by itself, in this attempt
  int exit_code = 0;
  int signal = 0;
  int64_t peak_memory = 0;
  std::optional<Error> start_error;  // it has ended without having begun
  TaskTold told;
};

enum class StopHow { kAsk, kKill };

// Called on the loop's thread, never from inside a call of the platform.
class PlatformWatcher {
 public:
  virtual ~PlatformWatcher() = default;
  // list() says something new.
  virtual void changed() = 0;
  virtual void log(const TaskId& task, std::string_view line) = 0;
  virtual void progress(const TaskId& task, const Progress& progress) = 0;
};

// All calls are on the loop's thread, return at once and do not throw: what fails is seen in
// list(). A task that has ended stays in the list until the next attempt takes its place.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual void watch(PlatformWatcher* watcher) = 0;
  // From this call on the list holds the attempt. Only for a task of which nothing runs.
  virtual void start(const TaskSpec& spec, int attempt) = 0;
  virtual void stop(const TaskId& task, StopHow how) = 0;
  virtual std::vector<TaskStatus> list() const = 0;
  virtual std::vector<std::string> last_lines(const TaskId& task) const = 0;
  // The job has ended: removes whatever still carries its id.
  virtual void clean_up() = 0;
};

}  // namespace capstan::jobs
