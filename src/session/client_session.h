#pragma once

// A session of a process that is no task: the task at its target keeps the graph and conducts the
// steps.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cluster/remote.h"
#include "session/session_backend.h"

namespace capstan {

// Thread-safe. Nothing is sent before the first run.
class ClientSession : public SessionBackend {
 public:
  ClientSession(const Graph& graph, const SessionOptions& options);
  ~ClientSession() override;

  // Reads the graph, and never waits: what is new in it goes out with the next run.
  std::shared_ptr<Executable> prepare(const PlanRequest& request) override;
  RunResult run(Executable& executable, std::span<const Tensor> feeds,
                const RunOptions& options) override;
  void reset(const std::vector<std::string>& containers) override;
  void close() override;
  uint64_t remote_calls() const override { return tasks_.calls(); }

 private:
  RemoteOptions remote_options();
  std::string checked(const Output& output) const;
  void note_new_nodes();
  void open();
  void wait_for_turn(std::unique_lock<std::mutex>& lock);
  void on_wait() const;

  const Graph& graph_;
  const SessionOptions& options_;
  const uint64_t incarnation_;
  const std::unique_ptr<Transport> transport_;
  RemoteTasks tasks_;
  std::atomic<bool> closed_{false};

  std::mutex mutex_;  // guards the rest
  std::condition_variable turn_over_;
  bool sending_ = false;  // one thread at a time opens and extends
  int noted_ = 0;         // nodes that were sent, or wait in unsent_
  std::deque<Extension> unsent_;
  // The task forgets the session when the lane that opened it ends: this one is used for that only.
  std::unique_ptr<Lane> home_;
};

}  // namespace capstan
