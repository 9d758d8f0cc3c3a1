#pragma once

// Offsets for values whose lifetimes are known: best fit over one block that grows at its end.

#include <cstddef>
#include <map>

namespace capstan {

class Arena {
 public:
  static constexpr size_t kAlign = 64;

  // An offset of at least `bytes` bytes, aligned.
  size_t take(size_t bytes);
  // Gives back what take(bytes) returned.
  void release(size_t offset, size_t bytes);
  size_t size() const { return size_; }

 private:
  static size_t rounded(size_t bytes) {
    return bytes == 0 ? kAlign : (bytes + kAlign - 1) / kAlign * kAlign;
  }
  std::map<size_t, size_t> free_;  // offset -> bytes; neighbours are joined
  size_t size_ = 0;
};

}  // namespace capstan
