#pragma once

// A connection after its handshake: messages in, frames out, and a descriptor to sleep on. The same
// for sockets and shared memory, for clients and servers.

#include <memory>
#include <string>

#include "base/transport.h"
#include "net/frame.h"
#include "net/shared_arena.h"

namespace capstan {

struct ChannelOptions {
  FrameLimits limits = {};
  // Shared memory only: where outgoing tensors are placed; made when absent.
  std::shared_ptr<SharedArena> arena = {};
  size_t ring_bytes = 256 << 10;
  std::shared_ptr<ReceivePool> pool = {};  // where incoming tensors are placed
  Admission admit = {};
  uint64_t link = 0;  // Handshake::link(); set per connection
};

// Reading (read, arm, disarm, on_ready) and writing (encode, write, reap) may happen on two threads
// at once; one each.
class Channel {
 public:
  virtual ~Channel() = default;
  // True when a message was taken, false when there is none yet. Throws Unavailable at the end.
  virtual bool read(Message& out) = 0;
  virtual uint64_t bytes_read() const = 0;
  // Whether the next message waits for memory (ChannelOptions::admit), not for bytes.
  virtual bool waits_for_admission() const = 0;

  virtual void encode(OutFrame& frame, const Message& message) = 0;
  virtual bool write(OutFrame& frame) = 0;
  // Gives back the shared memory that the peer is done with; encode() does so too.
  virtual void reap() = 0;

  virtual int fd() const = 0;
  virtual TransportKind kind() const = 0;
  // Called before sleeping on fd(), to be woken for messages or for room to write. False when there
  // is something to do already; the caller then does not sleep.
  virtual bool arm(bool messages, bool room) = 0;
  virtual void disarm() = 0;
  // Whether sleeping for room means waiting until fd() is writable.
  virtual bool room_shows_on_fd() const = 0;
  // fd() is readable.
  virtual void on_ready() = 0;
};

std::unique_ptr<Channel> make_socket_channel(Fd fd, TransportKind kind,
                                             const ChannelOptions& options, std::string peer);

// The two sides of a shared-memory connection find each other's lane region over the Unix socket
// first: sends ours at once, then wants to be asked whenever the socket is readable.
class ShmOpening {
 public:
  ShmOpening(Fd fd, const ChannelOptions& options, std::string peer);
  ~ShmOpening();
  int fd() const;  // -1 after poll() has handed it over, or has thrown
  // The channel, once the peer's region is here. Throws Unavailable when the peer is gone.
  std::unique_ptr<Channel> poll();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace capstan
