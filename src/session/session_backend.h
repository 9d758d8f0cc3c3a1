#pragma once

// What stands behind a Session: one in this process alone, one that conducts a cluster from a task
// of this process, or one of a client, for which the task at its target conducts.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/loop.h"
#include "plan/plan.h"
#include "session/executable.h"
#include "session/session.h"

namespace capstan {

// Thread-safe.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;

  virtual std::shared_ptr<Executable> prepare(const PlanRequest& request) = 0;
  virtual RunResult run(Executable& executable, std::span<const Tensor> feeds,
                        const RunOptions& options) = 0;
  virtual void reset(const std::vector<std::string>& containers) = 0;
  // Cancels runs at once. Called once.
  virtual void close() = 0;
  virtual uint64_t remote_calls() const = 0;
};

inline Deadline deadline_of(const RunOptions& options) {
  return options.timeout_ms ? deadline_in(std::chrono::milliseconds(options.timeout_ms))
                            : kNoDeadline;
}

// `graph` and `options` outlive it.
std::unique_ptr<SessionBackend> make_local_session(Graph& graph, const SessionOptions& options);
std::unique_ptr<SessionBackend> make_conducting_session(Graph& graph,
                                                        const SessionOptions& options);
std::unique_ptr<SessionBackend> make_client_session(Graph& graph, const SessionOptions& options);

}  // namespace capstan
