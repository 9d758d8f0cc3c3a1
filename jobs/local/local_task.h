#pragma once

// One attempt at one task: its process, its pipes, and what it told us over its channel.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/local/held_port.h"
#include "jobs/local/memory_cgroup.h"
#include "jobs/local/memory_watch.h"
#include "jobs/local/process.h"
#include "jobs/local/task_log.h"
#include "jobs/platform.h"
#include "jobs/poll_loop.h"

namespace capstan::jobs {

// What the platform adds to the task's own spec.
struct LocalSurroundings {
  std::vector<std::string> env;  // lacks the numbers of descriptors
  int listener = -1;             // on the task's port; -1: it has none
  int secret = -1;               // base/secret_fd.h; -1: it comes by file
  std::string cgroup;            // folder of the one that is to limit its memory; empty: none can
  MemoryWatch* watch = nullptr;  // of its memory, where no cgroup limits it; lives longer
};

class LocalTask {
 public:
  struct Sink {
    std::function<void()> changed;   // status says something new
    std::function<void()> progress;  // status.told.progress does
  };

  // Throws NotFound, PermissionDenied, ResourceExhausted or Internal if it cannot be started.
  // `log` lives longer than this.
  LocalTask(PollLoop& loop, TaskLog& log, const TaskSpec& spec, const LocalSurroundings& around,
            Sink sink);
  ~LocalTask();  // kills what still runs
  LocalTask(const LocalTask&) = delete;
  LocalTask& operator=(const LocalTask&) = delete;

  void stop(StopHow how);
  // While held, what it prints is not read; what it printed before its end is.
  void hold_output(bool held);
  // A line that it printed may tell of progress, where its channel does not.
  void on_line(std::string_view line);

  TaskStatus status;

 private:
  void start_process(const LocalSurroundings& around);
  void enter_cgroup(const std::string& folder);
  void read_output();
  void read_channel();
  void finish();
  void close_pipes();
  void on_event(std::string_view line);

  PollLoop& loop_;
  TaskLog& log_;
  Sink sink_;
  const TaskSpec spec_;
  std::unique_ptr<MemoryCgroup> cgroup_;
  MemoryWatch* watch_ = nullptr;
  int64_t had_ = 0;  // bytes, when it was killed for them
  std::unique_ptr<Process> process_;
  Fd output_, channel_;
  bool held_ = false;
  bool steps_over_channel_ = false, loss_over_channel_ = false;
};

}  // namespace capstan::jobs
