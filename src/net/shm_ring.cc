#include "net/shm_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/error.h"

namespace capstan {
namespace {

constexpr uint32_t kMagic = 0x52535043;  // "CPSR"
constexpr size_t kRingOffset = (sizeof(LaneMemory) + 4095) / 4096 * 4096;
constexpr uint32_t kMaxRing = 64u << 20;

// Copied once: the peer could change it later.
uint64_t checked_ring_bytes(const SharedRegion& region, const LaneMemory& memory,
                            const std::string& peer) {
  if (region.bytes() >= kRingOffset && memory.magic == kMagic) {
    uint32_t bytes = *const_cast<const volatile uint32_t*>(&memory.ring_bytes);
    if (std::has_single_bit(bytes) && bytes <= kMaxRing && region.bytes() - kRingOffset >= bytes) {
      return bytes;
    }
  }
  throw data_loss("{} passed shared memory that holds no ring", peer);
}

}  // namespace

std::shared_ptr<SharedRegion> ShmRing::make_region(uint64_t id, size_t ring_bytes) {
  size_t bytes = std::bit_ceil(std::clamp<size_t>(ring_bytes, 4096, kMaxRing));
  auto region = SharedRegion::create(id, kRingOffset + bytes);
  auto* memory = new (region->data()) LaneMemory();
  memory->magic = kMagic;
  memory->ring_bytes = uint32_t(bytes);
  return region;
}

ShmRing::ShmRing(std::shared_ptr<SharedRegion> own, std::shared_ptr<SharedRegion> theirs,
                 ControlSocket& control, std::string peer)
    : own_region_(std::move(own)),
      their_region_(std::move(theirs)),
      own_(reinterpret_cast<LaneMemory*>(own_region_->data())),
      theirs_(reinterpret_cast<const LaneMemory*>(their_region_->data())),
      own_ring_(own_region_->data() + kRingOffset),
      their_ring_(their_region_->data() + kRingOffset),
      control_(control),
      peer_(std::move(peer)),
      own_bytes_(own_->ring_bytes),
      their_bytes_(checked_ring_bytes(*their_region_, *theirs_, peer_)) {}

size_t ShmRing::read(const iovec* parts, int count) {
  uint64_t there = theirs_->head.load(std::memory_order_acquire) - consumed_;
  if (there == 0) return 0;
  if (there > their_bytes_) throw data_loss("{} wrote nonsense into its shared memory", peer_);
  uint64_t at = consumed_;
  for (int i = 0; i < count && there > 0; ++i) {
    size_t n = std::min<size_t>(parts[i].iov_len, there);
    size_t start = at & (their_bytes_ - 1);
    size_t first = std::min<size_t>(n, their_bytes_ - start);
    std::memcpy(parts[i].iov_base, their_ring_ + start, first);
    std::memcpy(static_cast<char*>(parts[i].iov_base) + first, their_ring_, n - first);
    at += n;
    there -= n;
  }
  size_t moved = size_t(at - consumed_);
  consumed_ = at;
  own_->consumed.store(at);
  if (theirs_->wants.load() & kWantSpace) control_.wake();
  return moved;
}

size_t ShmRing::write(const iovec* parts, int count) {
  uint64_t head = own_->head.load(std::memory_order_relaxed);
  uint64_t used = head - theirs_->consumed.load(std::memory_order_acquire);
  if (used > own_bytes_) throw data_loss("{} wrote nonsense into its shared memory", peer_);
  uint64_t room = own_bytes_ - used, at = head;
  if (room == 0) return 0;
  for (int i = 0; i < count && room > 0; ++i) {
    size_t n = std::min<size_t>(parts[i].iov_len, room);
    size_t start = at & (own_bytes_ - 1);
    size_t first = std::min<size_t>(n, own_bytes_ - start);
    std::memcpy(own_ring_ + start, parts[i].iov_base, first);
    std::memcpy(own_ring_, static_cast<const char*>(parts[i].iov_base) + first, n - first);
    at += n;
    room -= n;
  }
  // Both this store and the sleeper's "wants" are sequentially consistent: one of the two sides
  // sees the other's, so no wake is lost.
  own_->head.store(at);
  if (theirs_->wants.load() & kWantData) control_.wake();
  return size_t(at - head);
}

}  // namespace capstan
