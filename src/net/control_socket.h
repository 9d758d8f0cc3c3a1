#pragma once

// The Unix socket beside a shared-memory connection: wakes the other side, passes regions to it,
// and its end is the end of the connection.

#include <cstdint>
#include <deque>
#include <string>

#include "base/fd.h"
#include "base/function_ref.h"
#include "net/shared_region.h"

namespace capstan {

class ControlSocket {
 public:
  enum class Kind : uint8_t { kWake = 1, kRegion = 2, kDrop = 3, kLane = 4 };
  struct Event {
    Kind kind;
    uint64_t id = 0, bytes = 0;
    Fd fd;
  };

  ControlSocket(Fd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}
  int fd() const { return fd_.get(); }

  // May be called from any thread. False when the other side is gone or does not read; a wake that
  // finds the socket full is not needed.
  void wake();
  bool send_region(Kind kind, const SharedRegion& region);
  bool send_drop(uint64_t id);

  // One thread. Takes all that is there and tells it, except for wakes. False at the end of the
  // connection. Throws DataLoss naming the peer for anything that is no record.
  bool drain(FunctionRef<void(Event&&)> on_event);

 private:
  bool send(const char* data, size_t bytes, int fd);
  void parse(FunctionRef<void(Event&&)> on_event);

  const Fd fd_;
  const std::string peer_;
  std::string input_;
  std::deque<Fd> received_;  // of records that are not whole yet, in their order
};

}  // namespace capstan
