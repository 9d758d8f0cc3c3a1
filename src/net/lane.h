#pragma once

// The client side of the wire: lanes that the calling thread drives itself. It polls, yielding the
// core, for a while (net/poll_limit.h) after the last byte moved, then sleeps in poll(2).

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include "base/transport.h"
#include "net/channel.h"
#include "net/handshake.h"
#include "net/poll_limit.h"

namespace capstan {

struct LaneOptions {
  TransportKind kind = TransportKind::kAuto;
  Identity self = {};
  ChannelOptions channel = {};
  std::chrono::milliseconds handshake_time{10'000};
};

class SocketLane final : public Lane {
 public:
  SocketLane(std::unique_ptr<Channel> channel, std::string peer, uint64_t peer_incarnation);
  ~SocketLane() override;

  void send(const Message& message, const WaitOptions& wait = {}) override;
  Message receive(const WaitOptions& wait = {}) override;
  bool try_receive(Message& out) override;
  void cancel() noexcept override;
  void resume() override;
  const std::string& peer() const override { return peer_; }
  uint64_t peer_incarnation() const override { return incarnation_; }
  TransportKind kind() const override { return channel_->kind(); }

 private:
  friend size_t wait_any(std::span<Lane* const>, const WaitOptions&);
  friend class LaneSleep;
  bool pump();  // true when the inbox holds a message
  void check_cancelled() const;

  const std::unique_ptr<Channel> channel_;
  const std::string peer_;
  const uint64_t incarnation_;
  OutFrame frame_;
  std::deque<Message> inbox_;
  PollLimit patience_;
  bool broken_ = false;  // a frame was left half-written
  std::atomic<bool> cancelled_{false};
  const Fd cancel_fd_;
};

// As Transport::wait_any, for lanes of connect() below.
size_t wait_any(std::span<Lane* const> lanes, const WaitOptions& wait = {});

// As Transport::connect.
std::unique_ptr<Lane> connect(const ConnectRequest& request, const LaneOptions& options);

class SocketTransport final : public Transport {
 public:
  explicit SocketTransport(LaneOptions options) : options_(std::move(options)) {}
  std::unique_ptr<Lane> connect(const ConnectRequest& request) override {
    return capstan::connect(request, options_);
  }
  size_t wait_any(std::span<Lane* const> lanes, const WaitOptions& wait = {}) override {
    return capstan::wait_any(lanes, wait);
  }

 private:
  const LaneOptions options_;
};

}  // namespace capstan
