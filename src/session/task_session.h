#pragma once

// What sessions that run on a task of this process have in common: they make plans, compile the
// segments of that task, and conduct the steps.

#include <memory>
#include <set>
#include <string>

#include "cluster/remote.h"
#include "kernel/cancellation.h"
#include "session/session_backend.h"

namespace capstan {

class TaskSession : public SessionBackend {
 public:
  std::shared_ptr<Executable> prepare(const PlanRequest& request) override;
  RunResult run(Executable& executable, std::span<const Tensor> feeds,
                const RunOptions& options) override;
  void reset(const std::vector<std::string>& containers) override;
  void close() override;

 protected:
  TaskSession(Graph& graph, const SessionOptions& options) : graph_(graph), options_(options) {}

  // The other tasks, or null.
  virtual RemoteTasks* remote() const { return nullptr; }
  // Ships the piece of a segment of another task.
  virtual void ship(const Segment& segment, Executable::Part& part) = 0;
  // How a segment of this task is compiled whose outputs `shown` go to other tasks.
  virtual void adapt(ProgramOptions& options, const Plan& plan, std::set<int> shown) const = 0;

  Graph& graph_;
  const SessionOptions& options_;
  Placement placement_;
  std::shared_ptr<TaskState> task_;

 private:
  void add_part(Executable& executable, Plan& plan, size_t number);
  std::string label_of(const Segment& segment) const;
  ProgramOptions options_of(const Plan& plan, int number) const;
  RunResult run_simple(Executable& executable, std::span<const Tensor> feeds);

  std::shared_ptr<SessionState> session_state_ = std::make_shared<SessionState>();
  Cancellation cancellation_;
};

}  // namespace capstan
