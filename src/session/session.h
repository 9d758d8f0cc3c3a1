#pragma once

// Runs parts of a graph. The first run with given feeds and fetches makes a plan; later runs with
// the same ones find it by one hash look-up.
//
//   Session session(graph);
//   session.run({}, {}, {init});
//   Tensor loss = session.run({{x, batch}}, {loss_output})[0];

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/client.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace capstan {

class Server;        // cluster/server.h
class Executable;    // a cached plan, ready to run
class Cancellation;  // kernel/cancellation.h

struct SessionOptions {
  // "" runs in this process with a store of its own; "grpc://host:port" names the task that
  // conducts.
  std::string target;
  // The server of this process whose target that is, when there is one: runs are then conducted
  // here. Without one this process is a client, and the task at the target conducts.
  std::shared_ptr<Server> server;
  ClientOptions client;  // how a client reaches the target
  // tf.ConfigProto: only these tasks are contacted ("/job:ps", "/job:worker/task:1"); empty: all.
  std::vector<std::string> device_filters;
  int threads = 0;  // for kernels of a session without a server; 0: one per core
  std::string isa;  // "", "base", "avx2", "avx512"
  // Called while a run waits, at least five times a second and after every signal; may throw to
  // abandon the run (Python checks for Ctrl-C here).
  std::function<void()> on_wait;
  // Told in one line what the session has been waiting for so long, and ever more rarely again;
  // without one (here or in the server's options) the line goes to the standard error output.
  std::function<void(const std::string&)> on_notice;
  std::chrono::milliseconds notice_after{5000};
};

struct RunOptions {
  int64_t timeout_ms = 0;  // 0: none
  // Ends this run, if it is conducted in this process and waits; outlives it.
  Cancellation* cancellation = nullptr;
};

// The fetched values. They may point into memory of the run, which `lease` keeps from being reused:
// copy what must outlive it.
struct RunResult {
  std::vector<Tensor> values;
  std::shared_ptr<void> lease;
};

// Thread-safe: several threads may run at the same time (not while the graph is being extended by
// another thread; Python's GIL sees to that).
class Session {
 public:
  Session(Graph& graph, SessionOptions options = {});
  ~Session();

  Graph& graph() const;
  const SessionOptions& options() const;

  // Finds or makes the plan. `feeds` are the outputs that will be fed, in order. Throws
  // InvalidArgument naming a fetch or feed of another graph, an unfed placeholder and the like.
  std::shared_ptr<Executable> prepare(std::span<const Output> feeds,
                                      std::span<const Output> fetches,
                                      std::span<Node* const> targets);
  // Runs it; `feeds` in the order given to prepare(). Throws InvalidArgument naming the tensor for
  // a fed value of another dtype or an incompatible shape; Cancelled when the session is closed.
  RunResult run(Executable& executable, std::span<const Tensor> feeds,
                const RunOptions& options = {});

  // The convenient form; the values own their bytes.
  std::vector<Tensor> run(std::span<const std::pair<Output, Tensor>> feeds,
                          std::span<const Output> fetches, std::span<Node* const> targets = {});
  std::vector<Tensor> run(std::initializer_list<std::pair<Output, Tensor>> feeds,
                          std::initializer_list<Output> fetches,
                          std::initializer_list<Node*> targets = {});

  // Cancels runs at once; later ones throw. Shared state stays on the tasks.
  void close();
  bool closed() const;
  // Requests that this session has sent to other tasks so far.
  uint64_t remote_calls() const;

  // tf.Session.reset: clears these containers (all when empty) on every task of the target.
  static void reset(const SessionOptions& options, const std::vector<std::string>& containers);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace capstan
