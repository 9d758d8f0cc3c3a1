#pragma once

// One step: starts each part when what it depends on is there, here or on its task, on the thread
// that called run.

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cluster/remote.h"
#include "kernel/cancellation.h"
#include "session/executable.h"
#include "session/session.h"

namespace capstan {

class Conductor {
 public:
  // remote may be null when every part is local.
  Conductor(const Executable& executable, std::span<const Tensor> feeds, RemoteTasks* remote,
            const SessionOptions& options, Deadline deadline);
  ~Conductor();

  RunResult run();
  // Ends what waits, so that run() throws Cancelled. May be called from any thread, and even after
  // the conductor is gone.
  std::function<void()> canceller() const;

 private:
  // Outlives the conductor while a local part that was given up still winds down.
  struct Mailbox {
    struct Letter {
      int part;
      std::optional<Error> error;
      ProgramResult result;
    };
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Letter> letters;
    Cancellation cancellation;
    RemoteStep* wake = nullptr;  // a wait on lanes to interrupt, while there is one
  };

  void launch_ready();
  void launch(int part);
  void start_blocking(int part);
  void complete(int part, std::vector<Tensor> outputs);
  void let_go_of_inputs(const Executable::Part& part);
  std::vector<Tensor> inputs_of(const Executable::Part& part) const;
  const Tensor& value(const Source& source) const;
  bool take_letter();
  void wait();
  void wait_for_letter();
  void on_wait();
  std::string waited_for() const;
  RunResult result();

  const Executable& executable_;
  std::span<const Tensor> feeds_;
  RemoteTasks* remote_tasks_;
  const SessionOptions& options_;
  const Deadline deadline_;
  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<RemoteStep> remote_;
  const std::function<void()> on_wait_ = [this] { on_wait(); };
  std::vector<int> waits_for_, takers_;  // a part that has ended waits for -1
  std::vector<int> ready_remote_, ready_local_;
  std::vector<std::vector<Tensor>> outputs_;
  std::vector<std::shared_ptr<void>> frames_;  // by part; what its outputs lie in
  size_t finished_ = 0;
  int blocked_ = 0;                               // local parts under way
  Deadline quiet_since_ = {}, next_notice_ = {};  // nothing has ended since; zero: unknown
};

}  // namespace capstan
