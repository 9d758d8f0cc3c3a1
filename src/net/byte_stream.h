#pragma once

// A connection as bytes that come and go without blocking. Frames are read and written the same way
// over sockets and over rings of shared memory.

#include <sys/uio.h>

#include <cstddef>
#include <string>

#include "base/fd.h"

namespace capstan {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // The number of bytes moved; 0 when it would block. Throws Unavailable naming the peer when the
  // other end is gone. No part is empty.
  virtual size_t read(const iovec* parts, int count) = 0;
  virtual size_t write(const iovec* parts, int count) = 0;
};

class SocketStream final : public ByteStream {
 public:
  SocketStream(Fd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}
  size_t read(const iovec* parts, int count) override;
  size_t write(const iovec* parts, int count) override;
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  std::string peer_;
};

}  // namespace capstan
