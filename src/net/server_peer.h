#pragma once

// One connection of a server, from its first byte to its last. Lives on the loop's thread, except
// for send() and close().

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "net/epoll_loop.h"
#include "net/receive_budget.h"
#include "net/refusals.h"
#include "net/server.h"

namespace capstan {

class ServerPeer;

// What the connections of one server have in common.
struct ServerContext {
  EpollLoop loop;
  ServerOptions options;
  Handler& handler;
  SystemRandom random;
  std::string unix_name;
  std::function<void(ServerPeer*)> forget;  // drops the server's reference
  std::shared_ptr<ReceiveBudget> budget;
  std::vector<std::weak_ptr<ServerPeer>> starved;  // wait for the budget; loop thread
  std::map<uint64_t, ServerPeer*> unproven = {};   // by id: the oldest first
  Refusals refusals{loop, options.on_refused, options.refusal_period};
};

class ServerPeer final : public Peer,
                         public EpollLoop::Source,
                         public std::enable_shared_from_this<ServerPeer> {
 public:
  ServerPeer(ServerContext& context, Fd fd, TransportKind kind, std::string where, uint64_t id);

  void send(Message message) override;
  void close() override;
  size_t queued_bytes() const override { return queued_bytes_.load(); }
  uint64_t id() const override { return id_; }
  const std::string& name() const override { return name_; }
  uint64_t incarnation() const override { return incarnation_; }
  TransportKind kind() const override { return kind_; }

  void start();
  void try_again();             // there may be room in the budget; loop thread
  void shut(const Error& why);  // loop thread

  void on_event(uint32_t events) override;
  bool poll() override;
  bool rest() override;

 private:
  enum class State { kHandshake, kOpening, kOpen, kClosed };
  struct Queued {
    Message message;
    OutFrame frame;
    size_t bytes;
    bool encoded;
  };
  bool step_handshake();
  void flush_handshake();
  void after_handshake();
  void open(std::unique_ptr<Channel> channel);
  bool pump();
  void reap();
  void handle(Message&& message);
  bool flush();
  void encode(OutFrame& frame, Message& message);
  void enqueue(Queued queued);
  void update_interest();
  std::shared_ptr<void> admit(size_t bytes);
  void starve();
  bool paused() const { return starved_ || queued_bytes_.load() > context_.options.queue_bytes; }
  int fd() const;

  ServerContext& context_;
  const uint64_t id_;
  const std::string where_;
  TransportKind kind_;
  std::string name_;
  uint64_t incarnation_ = 0;

  State state_ = State::kHandshake;
  Fd socket_;
  std::optional<Handshake> handshake_;
  std::unique_ptr<ShmOpening> opening_;
  Loop::TimerId handshake_timer_ = 0;
  uint32_t interest_ = 0;
  bool starved_ = false;  // the next message waits for the budget
  bool insists_ = false;  // and has waited long enough
  Loop::TimerId patience_ = 0;
  bool turn_over_ = false;  // more messages may be here already, read but not handled

  std::mutex out_mutex_;              // guards writing on channel_ and the next four
  std::unique_ptr<Channel> channel_;  // set and reset by the loop's thread only, under the lock
  OutFrame frame_;
  std::deque<Queued> queue_;
  bool closing_ = false;
  std::atomic<size_t> queued_bytes_{0};
};

}  // namespace capstan
