#pragma once

// Tensor memory that peers on this host can map: blocks in regions that this process owns. A tensor
// allocated here is sent as a few numbers instead of its bytes. It grows by whole regions; a block
// goes back when the last Tensor on it is gone and every peer that was shown it has let go.

#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/random.h"
#include "net/shared_region.h"
#include "tensor/tensor.h"

namespace capstan {

// kFrozen: not written once it was sent; the peer may look at it as long as it likes.
// kLive: a variable, updated in place. It is lent to peers, and its owner asks before it writes.
enum class Sharing : uint8_t { kFrozen, kLive };

struct ArenaOptions {
  // Bound on the frozen blocks in use and kept for reuse. Beyond it bytes travel in frames.
  size_t frozen_limit = 256u << 20;
  size_t region_bytes = 4u << 20;  // larger blocks have a region to themselves
};

// Thread-safe. Tensors keep their arena alive.
class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  static std::shared_ptr<SharedArena> make(const ArenaOptions& options = {});

  // 64-byte aligned; contents are unspecified. Throws ResourceExhausted beyond the limit.
  Tensor allocate(DType dtype, const Shape& shape, Sharing sharing = Sharing::kFrozen);
  // An invalid Tensor beyond the limit.
  Tensor try_allocate(DType dtype, const Shape& shape, Sharing sharing = Sharing::kFrozen);

  struct Location {
    std::shared_ptr<SharedRegion> region;
    uint64_t offset = 0;
    Sharing sharing = Sharing::kFrozen;
  };
  // Nothing unless all of the bytes lie in one block of this arena that is in use.
  std::optional<Location> locate(const void* data, size_t bytes) const;

  // Lends a live block to a peer until over() says so; over() is called from any thread, while the
  // arena is locked. False when somebody writes to it, or it is none.
  bool lend(const void* data, std::function<bool()> over);
  // Before and after a live block is written. False, and nothing to end, while it is lent.
  bool begin_write(const void* data);
  void end_write(const void* data);

  // Changes whenever a region was given back, so that peers can be told to unmap it.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  size_t bytes_in_use() const;
  size_t bytes_reserved() const;  // of all regions

 private:
  struct Block {
    size_t bytes;
    Sharing sharing;
    int writers = 0;
    std::vector<std::function<bool()>> loans = {};
  };
  struct Area {
    std::shared_ptr<SharedRegion> region;
    bool own = false;                // made for one block
    std::map<size_t, size_t> free;   // offset to bytes, neighbours always joined
    std::map<size_t, Block> in_use;  // by offset
  };
  using Areas = std::map<const char*, Area>;  // by address

  explicit SharedArena(const ArenaOptions& options) : options_(options) {}
  char* take(size_t bytes, Sharing sharing);
  char* take_from(Area& area, size_t bytes, Sharing sharing);
  Areas::iterator grow(size_t bytes);
  // The area at or before an address.
  template <class A>
  static auto find(A& areas, const void* data) {
    auto next = areas.upper_bound(static_cast<const char*>(data));
    return next == areas.begin() ? areas.end() : std::prev(next);
  }
  Block* live_block(const void* data);
  void give_back(char* data);
  void trim(size_t wanted);

  const ArenaOptions options_;
  mutable std::mutex mutex_;
  SystemRandom random_;
  Areas areas_;
  size_t frozen_ = 0, live_ = 0, reserved_ = 0, idle_own_ = 0;
  std::atomic<uint64_t> epoch_{0};
};

}  // namespace capstan
