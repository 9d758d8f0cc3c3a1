#pragma once

// The server side of the wire: one loop thread accepts lanes, reads their frames and calls a
// handler, which answers at once or later, from any thread. A call that waits holds no thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/transport.h"
#include "net/channel.h"
#include "net/handshake.h"

namespace capstan {

struct ServerOptions {
  std::string address = ":0";  // "host:port"; port 0: any free one
  int listen_fd = -1;          // an inherited listening socket, taken over, instead of the address
  // Also answer peers of this host on the Unix name that belongs to the address.
  bool local = true;
  Identity self = {};
  ChannelOptions channel = {};
  std::chrono::milliseconds handshake_time{10'000};
  // When a newcomer finds them all taken, the oldest that has not proved itself yet gives way.
  size_t max_connections = 4096;
  // Bytes that may wait for one peer. Beyond the first nothing more is read from it; beyond the
  // second, which only answers to calls already taken can reach, it is dropped.
  size_t queue_bytes = 64u << 20;
  size_t max_queue_bytes = 2048ull << 20;
  // Bytes of large messages that are received, or worked on, at the same time; a peer that would go
  // beyond waits for its turn, though not longer than a second while others make it wait.
  size_t receive_bytes = 64u << 20;
  // Told of connections that ended before they were open: of the first at once, then once per
  // period of how many there were.
  std::function<void(const Error&)> on_refused = {};
  std::chrono::milliseconds refusal_period{10'000};
};

// The handler outlives the server; the server is destroyed on the thread that ran it, or after that
// thread has left run().
class ServerLoop {
 public:
  // Listens from here on. Throws AlreadyExists for a port in use, Unavailable for other reasons.
  ServerLoop(ServerOptions options, Handler& handler);
  ~ServerLoop();
  ServerLoop(const ServerLoop&) = delete;
  ServerLoop& operator=(const ServerLoop&) = delete;

  uint16_t port() const;
  std::string address() const;  // as bound: "127.0.0.1:34567"
  Loop& loop();
  void run();                  // until stop()
  void stop();                 // any thread
  size_t connections() const;  // loop thread, or when not running

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace capstan
