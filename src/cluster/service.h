#pragma once

// A task as its peers see it: keeps their sessions and pieces, runs what they call, notes who of
// them only serves and who has left. Everything here happens on the server's one control thread,
// but for pieces that take long, which have a thread of their own, and the ends of calls that had
// to wait.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/poster.h"
#include "base/transport.h"
#include "cluster/membership.h"
#include "exec/program.h"
#include "net/message.h"

namespace capstan {

// Takes what clients outside the cluster ask of the task that conducts for them. Given by the layer
// that has sessions.
class Master {
 public:
  virtual ~Master() = default;
  // On the control thread, like the next two; must not block. False, with the message untouched,
  // for one that is no client's.
  virtual bool on_message(const std::shared_ptr<Peer>& peer, Message& message) = 0;
  virtual void cancel(const Peer& peer, uint64_t call) = 0;
  virtual void on_close(const Peer& peer) = 0;
  // From any thread, while the control thread still runs: ends every step and waits for that.
  virtual void stop() = 0;
};

class Service : public Handler {
 public:
  Service(const Catalog& catalog, Membership& members, std::shared_ptr<TaskState> task);

  void on_message(const std::shared_ptr<Peer>& peer, Message&& message) override;
  void on_close(const std::shared_ptr<Peer>& peer, const Error& why) override;

  void stop();
  // Ends what still runs. After the control thread has ended.
  void finish();
  void set_master(std::shared_ptr<Master> master);
  uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

 private:
  struct OpenSession {
    std::string task;  // who opened it
    uint64_t incarnation = 0;
    std::shared_ptr<SessionState> state = std::make_shared<SessionState>();
    std::unordered_map<uint64_t, std::shared_ptr<Program>> programs;
  };
  // Calls of one peer that wait; shared with their callbacks.
  struct Waiting {
    std::mutex mutex;
    std::map<uint64_t, std::pair<uint64_t, std::shared_ptr<Cancellation>>>
        calls;  // call -> session, how to end it
  };

  std::shared_ptr<Master> master() const;
  bool is_for_master(const std::shared_ptr<Peer>& peer, Message& message);
  OpenSession& session_of(const Message& message);
  void hello(const Message& message);
  void ship(const Message& message);
  void call(const std::shared_ptr<Peer>& peer, Message&& message);
  void call_blocking(const std::shared_ptr<Peer>& peer, Message&& message,
                     std::shared_ptr<Program> program);
  void cancel_call(const Peer& peer, uint64_t call);
  void close_session(const Message& message);
  void reset(const Message& message);
  void news(Peer& peer, const Message& message);
  static void reply(Peer& peer, const Message& request, ProgramResult result);
  static void acknowledge(Peer& peer, const Message& request, std::string meta = "");

  const Catalog& catalog_;
  Membership& members_;
  const std::shared_ptr<TaskState> task_;
  std::unordered_map<uint64_t, OpenSession> sessions_;
  std::unordered_map<uint64_t, std::shared_ptr<Waiting>> waiting_;  // by peer
  std::unique_ptr<Poster> heavy_ =
      std::make_unique<Poster>();  // runs segments that would keep the control thread too long
  std::atomic<uint64_t> messages_{0};

  mutable std::mutex mutex_;  // guards the next
  std::shared_ptr<Master> master_;
};

}  // namespace capstan
