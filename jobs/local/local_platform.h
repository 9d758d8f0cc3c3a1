#pragma once

// The tasks of one job as processes of this machine. Their ports are held for as long as the job
// lasts, and nothing of it is left when it has ended, or when this process dies.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "jobs/local/held_port.h"
#include "jobs/local/keeper.h"
#include "jobs/local/local_task.h"
#include "jobs/local/memory_cgroup.h"
#include "jobs/local/memory_watch.h"
#include "jobs/local/task_log.h"
#include "jobs/platform.h"
#include "jobs/poll_loop.h"

namespace capstan::jobs {

struct LocalPlatformOptions {
  std::string job_id;
  std::function<std::string(const TaskId&)> log_file;  // empty text: none
  uint64_t largest_log = 0;                            // bytes; 0: no limit
  CgroupPlace cgroups = find_cgroup_place();           // where tasks with a memory limit go
};

// What is to be said of --memory where no control group keeps it; else empty.
std::string memory_note(const JobSpec& spec, const CgroupPlace& cgroups = find_cgroup_place());

class LocalPlatform : public Platform {
 public:
  // Holds the ports. Throws ResourceExhausted, or Internal for a log that cannot be written.
  LocalPlatform(PollLoop& loop, const JobSpec& spec, const LocalPlatformOptions& options);
  ~LocalPlatform() override;

  // What tasks print stays in their pipes, and holds them up when those are full.
  void hold_output(bool held);

  // Where the tasks will be.
  Cluster cluster() const;

  void watch(PlatformWatcher* watcher) override { watcher_ = watcher; }
  void start(const TaskSpec& spec, int attempt) override;
  void stop(const TaskId& task, StopHow how) override;
  std::vector<TaskStatus> list() const override;
  std::vector<std::string> last_lines(const TaskId& task) const override;
  void clean_up() override;

 private:
  struct Place {
    TaskId task;
    HeldPort held;
    std::unique_ptr<TaskLog> log;
    std::unique_ptr<LocalTask> running;  // none before the first start; stays when it has ended
    TaskStatus failed;                   // where it could not be started
  };

  Place& place(const TaskId& task) const;
  std::unique_ptr<LocalTask> begin(Place& place, const TaskSpec& spec);
  std::vector<std::string> environment(const TaskSpec& spec);
  LocalSurroundings surroundings(const Place& place, const TaskSpec& spec);
  void sweep() const;
  void reap();
  void on_line(Place& place, std::string_view line);

  PollLoop& loop_;
  const std::vector<TaskGroup> groups_;
  // For all to see: what is left of the job is found by it.
  const std::string job_id_, mark_;
  const CgroupPlace cgroups_;
  const Fd secret_;
  std::string secret_file_;  // once a task was given it so
  Keeper keeper_;
  PlatformWatcher* watcher_ = nullptr;
  MemoryWatch memory_;
  std::vector<std::unique_ptr<Place>> places_;
  bool clean_ = false, held_ = false;
  Loop::TimerId reaping_ = 0;
};

}  // namespace capstan::jobs
