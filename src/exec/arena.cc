#include "exec/arena.h"

#include <iterator>

namespace capstan {

size_t Arena::take(size_t bytes) {
  bytes = rounded(bytes);
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
  }
  if (best != free_.end()) {
    auto [offset, room] = *best;
    free_.erase(best);
    if (room > bytes) free_[offset + bytes] = room - bytes;
    return offset;
  }
  // A hole at the very end is grown rather than left behind.
  size_t offset = size_;
  if (!free_.empty()) {
    auto last = std::prev(free_.end());
    if (last->first + last->second == size_) {
      offset = last->first;
      free_.erase(last);
    }
  }
  size_ = offset + bytes;
  return offset;
}

void Arena::release(size_t offset, size_t bytes) {
  bytes = rounded(bytes);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

}  // namespace capstan
