#pragma once

// Gets a session ready: the chief initialises or restores, the others wait for it; queue runners
// run until the end. A monitored session adds hooks and a new session when a task was lost. Under
// `capstan run` it stops at --max-steps and tells the launcher step and loss.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "build/sync_replicas.h"
#include "session/session.h"
#include "train/hooks.h"

namespace capstan {

struct MonitoredSessionOptions {
  bool is_chief = true;
  SessionOptions session;
  std::string checkpoint_dir;          // where to restore from and save to; empty: neither
  std::vector<VariableRef> variables;  // the shared ones
  VariableRef global_step;
  Node* init = nullptr;  // of the shared variables; made when null
  // Of each task's own state, once the shared variables are there (sync replicas need it).
  Node* local_init = nullptr;
  std::vector<std::shared_ptr<Hook>> hooks;
  // Run again and again in threads of their own by the chief: the sync replicas' token pump.
  std::vector<Node*> queue_ops;
  Node* first_op = nullptr;  // run once by the chief after init: the first tokens
  std::chrono::seconds save_every{600};
  std::chrono::seconds wait_at_most{7200};
  int64_t max_steps = 0;  // 0: none
  // A scalar that is fetched with every step, and told to the launcher with it.
  Output loss;
};

// Sets up sync replicas: local init per role, the chief's queue runner, the first tokens.
void use_sync_replicas(MonitoredSessionOptions& options, const SyncReplicas& sync, Node& tokens);

class MonitoredSession {
 public:
  // Adds its last nodes (saver, readiness), begins the hooks, then makes the session; returns when
  // it is ready. Throws DeadlineExceeded when the chief did not initialise in time.
  MonitoredSession(Graph& graph, MonitoredSessionOptions options);
  ~MonitoredSession();

  bool should_stop() const { return stop_; }
  void request_stop() { stop_ = true; }
  int64_t step() const { return step_; }

  // One step. Aborted and Unavailable make a new session, restored from the latest checkpoint by
  // the chief, and the same call again; every other error is thrown, that of a queue runner too.
  std::vector<Tensor> run(std::span<const std::pair<Output, Tensor>> feeds,
                          std::span<const Output> fetches, std::span<Node* const> targets = {});
  // Ends the hooks and the queue runners, and closes the session.
  void close();
  Session& session() { return *session_; }

 private:
  // Where a launcher listens, or gave a limit.
  void follow_launcher();
  void create_session();
  void prepare_as_chief();
  void wait_for_chief();
  void start_queue_runners();
  void stop_queue_runners();
  // What made a queue runner end, once; nothing when it was the end of the session.
  std::optional<Error> runner_error();
  int64_t read_step();
  // Errors go to the launcher, too.
  void told(const std::function<void()>& work);
  // Until it ends otherwise than by the loss of a task.
  std::vector<Tensor> run_again(std::span<const std::pair<Output, Tensor>> feeds,
                                std::span<const Output> fetches, std::span<Node* const> targets);
  std::vector<Tensor> run_once(std::span<const std::pair<Output, Tensor>> feeds,
                               std::span<const Output> fetches, std::span<Node* const> targets);

  Graph& graph_;
  MonitoredSessionOptions options_;
  std::shared_ptr<TaskChannel> channel_;  // to the launcher, if there is one
  std::shared_ptr<Saver> saver_;
  Output uninitialized_;
  std::unique_ptr<Session> session_;
  std::vector<std::thread> runners_;
  std::mutex runner_mutex_;  // guards runner_error_
  std::optional<Error> runner_error_;
  int64_t step_ = 0;
  bool stop_ = false;
  bool closed_ = false;
};

}  // namespace capstan
