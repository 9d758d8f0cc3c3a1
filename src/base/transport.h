#pragma once

// What the cluster asks of the wire: lanes to call servers with, peers to answer, and a transport
// that makes lanes. net implements it over sockets and shared memory; a simulator may over queues.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/loop.h"

namespace capstan {

class Error;
struct Message;  // net/message.h

// kAuto: shared memory when the peer is on this host, else TCP.
enum class TransportKind : uint8_t { kAuto, kTcp, kUnix, kShm };

// "auto", "tcp", "unix", "shm"; nothing for any other text.
std::optional<TransportKind> transport_kind_from(std::string_view text);
std::string_view transport_kind_name(TransportKind kind);

// How a wait may end before its time. on_interrupt runs on the waiting thread when a signal
// interrupts it, and at least every 200 ms while it is blocked; what it throws ends the wait.
struct WaitOptions {
  Deadline deadline = kNoDeadline;
  std::function<void()> on_interrupt = {};
};

// One connection to one server, used by one thread at a time. That thread writes its request and
// drives the connection until the reply is there. Throws Unavailable when the peer is gone,
// DataLoss when it sends nonsense, DeadlineExceeded, Cancelled; after the first two the lane is of
// no use.
class Lane {
 public:
  virtual ~Lane() = default;
  virtual void send(const Message& message, const WaitOptions& wait = {}) = 0;
  virtual Message receive(const WaitOptions& wait = {}) = 0;
  // Takes a message that is already here, without waiting.
  virtual bool try_receive(Message& out) = 0;
  // From any thread: the caller that waits, and every later one, gets Cancelled, until resume().
  virtual void cancel() noexcept = 0;
  virtual void resume() = 0;

  virtual const std::string& peer() const = 0;  // "ps/0 at 10.0.0.1:2222", for messages
  virtual uint64_t peer_incarnation() const = 0;
  virtual TransportKind kind() const = 0;  // what was chosen; never kAuto
};

// A client as a server sees it. send() and close() may be called from any thread and never block:
// what the wire does not take at once waits in a bounded queue, and a peer that does not read its
// replies is read from no further.
class Peer {
 public:
  virtual ~Peer() = default;
  // Silently dropped once the peer is gone: Handler::on_close has told, or will.
  virtual void send(Message message) = 0;
  virtual void close() = 0;
  virtual size_t queued_bytes() const = 0;

  virtual uint64_t id() const = 0;  // never used again by this server
  virtual const std::string& name() const = 0;
  virtual uint64_t incarnation() const = 0;
  virtual TransportKind kind() const = 0;
};

// Called on the server loop's thread only. It must not block. What on_message throws goes back to
// the peer as the reply to that call.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void on_open(const std::shared_ptr<Peer>&) {}
  virtual void on_message(const std::shared_ptr<Peer>& peer, Message&& message) = 0;
  virtual void on_close(const std::shared_ptr<Peer>&, const Error& /*why*/) {}
};

struct ConnectRequest {
  std::string address;  // "host:port"
  Deadline deadline = kNoDeadline;
  // Told after 5 s, and every 5 s from then on, what is waited for, where, and the last error.
  std::function<void(const std::string&)> on_wait = {};
  std::function<void()> on_interrupt = {};
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Tries until the deadline. Throws DeadlineExceeded with the last error; Unauthenticated and
  // FailedPrecondition (another version) at once.
  virtual std::unique_ptr<Lane> connect(const ConnectRequest& request) = 0;
  // The index of a lane of this transport on which try_receive() will succeed.
  virtual size_t wait_any(std::span<Lane* const> lanes, const WaitOptions& wait = {}) = 0;
};

}  // namespace capstan
