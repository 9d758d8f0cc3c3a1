#pragma once

// A two-way stream of bytes through shared memory. Each side owns one region, which only it writes:
// its outgoing ring, how far it has read the other's ring, which shared tensors it is done with,
// and whether it sleeps. Nothing that the peer writes is used before it is copied and checked.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "net/byte_stream.h"
#include "net/control_socket.h"
#include "net/shared_region.h"

namespace capstan {

constexpr uint32_t kAckSlots = 1024;

// The start of a lane region. Everything here is lock-free and of fixed width: the other process
// may be another build.
struct LaneMemory {
  uint32_t magic;
  uint32_t ring_bytes;                         // a power of two; the ring follows at kRingOffset
  alignas(64) std::atomic<uint64_t> head;      // bytes ever written to this ring
  alignas(64) std::atomic<uint64_t> consumed;  // bytes ever read from the other's ring
  alignas(64) std::atomic<uint32_t> wants;     // what the owner sleeps for: kWantData, kWantSpace
  alignas(64) std::atomic<uint64_t> acks[kAckSlots];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(offsetof(LaneMemory, head) == 64 && offsetof(LaneMemory, consumed) == 128 &&
              offsetof(LaneMemory, wants) == 192 && offsetof(LaneMemory, acks) == 256);

enum Want : uint32_t { kWantNothing = 0, kWantData = 1, kWantSpace = 2 };

// Reading and writing may happen on two threads at once; one each.
class ShmRing final : public ByteStream {
 public:
  static std::shared_ptr<SharedRegion> make_region(uint64_t id, size_t ring_bytes);
  // Throws DataLoss when the peer's region is not one.
  ShmRing(std::shared_ptr<SharedRegion> own, std::shared_ptr<SharedRegion> theirs,
          ControlSocket& control, std::string peer);

  size_t read(const iovec* parts, int count) override;
  size_t write(const iovec* parts, int count) override;

  bool readable() const { return theirs_->head.load() != consumed_; }
  bool writable() const { return own_->head.load() - theirs_->consumed.load() < own_bytes_; }
  // Asks the peer to wake us when something changes; look again before sleeping.
  void want(uint32_t what) { own_->wants.store(what); }

  // The peer's word that it is done with the tensor in this slot; our word that we are.
  uint64_t ack_of_peer(uint32_t slot) const { return theirs_->acks[slot].load(); }
  // Whether the peer is done with what was shown in the slot under this number, or something after
  // it. May outlive the ring.
  std::function<bool()> end_of_loan(uint32_t slot, uint64_t sequence) const {
    return [region = their_region_, memory = theirs_, slot, sequence] {
      return memory->acks[slot].load() >= sequence;
    };
  }
  const std::shared_ptr<SharedRegion>& own_region() const { return own_region_; }

 private:
  const std::shared_ptr<SharedRegion> own_region_, their_region_;
  LaneMemory* const own_;
  const LaneMemory* const theirs_;
  char* const own_ring_;
  const char* const their_ring_;
  ControlSocket& control_;
  const std::string peer_;
  uint64_t own_bytes_, their_bytes_;
  uint64_t consumed_ = 0;  // the reader's copy of own_->consumed
};

}  // namespace capstan
