#pragma once

// One piece of memory that one process writes and others map read-only: a sealed memfd, passed over
// a Unix socket. It has no name and vanishes with its last user. The seals keep it from shrinking
// under a reader and from being mapped writable by anyone but its creator.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/fd.h"

namespace capstan {

class SharedRegion {
 public:
  // Throws ResourceExhausted when the system has no memory to give.
  static std::shared_ptr<SharedRegion> create(uint64_t id, size_t bytes);
  // Maps a peer's region. Throws DataLoss naming the peer unless the descriptor is a memfd of at
  // least `bytes` bytes that is sealed against shrinking.
  static std::shared_ptr<SharedRegion> map(uint64_t id, Fd fd, size_t bytes, std::string_view peer);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  uint64_t id() const { return id_; }
  size_t bytes() const { return bytes_; }
  char* data() const { return data_; }  // of a peer's region: not to be written
  int fd() const { return fd_.get(); }  // -1 for a peer's region: the mapping suffices

 private:
  SharedRegion(uint64_t id, Fd fd, char* data, size_t bytes)
      : id_(id), fd_(std::move(fd)), data_(data), bytes_(bytes) {}

  const uint64_t id_;
  const Fd fd_;
  char* const data_;
  const size_t bytes_;
};

}  // namespace capstan
