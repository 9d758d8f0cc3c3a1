#pragma once

// One session's access to the other tasks of its cluster: lanes, opened sessions, shipped pieces.
// A step borrows one lane per task that it calls; the calling thread drives them all.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/transport.h"
#include "cluster/protocol.h"
#include "net/message.h"
#include "plan/plan.h"

namespace capstan {

struct RemoteOptions {
  MessageType greeting = MessageType::kHello;  // opens the session on a task
  std::string greeting_meta;
  std::vector<std::string> names, addresses;  // of the tasks, by their number in the placement
  uint64_t session = 0;                       // unique among all sessions of the cluster
  uint64_t incarnation = 0;                   // of this process
  int64_t connect_timeout_ms = 300'000;
  std::function<void()> on_wait;
  std::function<void(const std::string&)> on_notice;
};

class RemoteStep;

// Thread-safe, but for close().
class RemoteTasks {
 public:
  RemoteTasks(Transport& transport, RemoteOptions options);
  ~RemoteTasks();

  // Sends the piece to the task and returns the id that calls use. Throws Aborted when the task was
  // restarted since this session first spoke to it: what it held is gone.
  uint64_t ship(int task, const Piece& piece);
  // The task lets go of the piece, at the next time that one is shipped to it. Any thread.
  void forget(int task, uint64_t segment);
  void reset(int task, const std::vector<std::string>& containers);
  // One request and its answer; throws the Error that the task answered with.
  Message exchange(int task, Message message);
  // A lane on which the session is open; the caller's until it gives it back, or drops it.
  std::unique_ptr<Lane> borrow(int task);
  // Closes the session on every task that it was opened on; wakes blocked steps with Cancelled.
  void close();
  // Requests sent so far, calls of pieces and all else: the tests count round trips.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  friend class RemoteStep;
  struct Target {
    std::mutex mutex;
    std::vector<std::unique_ptr<Lane>> idle;
    bool opened = false;
    uint64_t incarnation = 0;
    uint64_t next_segment = 1;
    std::vector<uint64_t> forgotten;  // segments that the task still has
  };

  void give_back(int task, std::unique_ptr<Lane> lane);
  std::unique_ptr<Lane> connect(int task);
  void open_on(int task, Lane& lane);
  void tell_forgotten(int task);
  void close_on(Target& target);
  void say_close(Lane& lane);
  bool closed();
  const std::string& name(int task) const { return options_.names[size_t(task)]; }

  Transport& transport_;
  const RemoteOptions options_;
  std::vector<std::unique_ptr<Target>> targets_;
  std::atomic<uint64_t> calls_{0};
  std::mutex mutex_;  // guards the next two
  bool closed_ = false;
  std::vector<RemoteStep*> steps_;
};

// The calls of one step. Used by one thread, but for wake().
class RemoteStep {
 public:
  // Requests must have left by the deadline; wait() has one of its own.
  RemoteStep(RemoteTasks& tasks, Deadline deadline);
  // Calls still under way are cancelled, and their tasks have given them up before this returns; a
  // task that does not answer at once loses its lane, which cancels them too.
  ~RemoteStep();

  void call(int task, uint64_t segment, uint64_t token, std::vector<Tensor> inputs);
  // The same for any request; message.call is the token.
  void send(int task, Message message);
  bool idle() const { return waiting_ == 0; }

  struct Reply {
    uint64_t token = 0;
    std::vector<Tensor> outputs;
  };
  // Waits for the next reply; false when wake() was called instead. Throws the Error that a task
  // answered with, or that ended a lane, with the task's name in it.
  bool wait(Reply& reply, const WaitOptions& options);
  // From any thread: the next or present wait() returns false.
  void wake();
  // From any thread: the next or present wait() throws Cancelled.
  void cancel();

 private:
  struct Line {
    int task;
    std::unique_ptr<Lane> lane;
    std::vector<uint64_t> waiting;  // tokens of the calls without an answer
    bool broken = false;            // its state is unknown: not to be used again
  };
  Line& line(int task);
  bool take(Line& line, Reply& reply);
  void give_up(Line& line);
  bool begin_wait();
  bool end_wait();

  RemoteTasks& tasks_;
  const Deadline deadline_;
  std::vector<Line> lines_;
  std::vector<Lane*> pending_;  // scratch for wait()
  int waiting_ = 0;
  std::mutex mutex_;  // guards the next three, and the lanes' cancel()
  bool waits_ = false;
  bool woken_ = false;
  bool cancelled_ = false;
};

}  // namespace capstan
