#pragma once

// How tensors pass through shared memory on one connection: ours are placed in our arena and shown
// to the peer, the peer's are looked at through read-only mappings. A placed tensor is held until
// the peer has said, in its own region, that it is done.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/control_socket.h"
#include "net/frame.h"
#include "net/shared_arena.h"
#include "net/shm_ring.h"

namespace capstan {

// The regions of one peer that we have mapped.
class PeerRegions {
 public:
  explicit PeerRegions(std::string peer) : peer_(std::move(peer)) {}
  // kRegion and kDrop. Throws DataLoss or ResourceExhausted naming the peer.
  void on_event(ControlSocket::Event&& event);
  std::shared_ptr<SharedRegion> find(uint64_t id) const;

 private:
  const std::string peer_;
  std::unordered_map<uint64_t, std::shared_ptr<SharedRegion>> regions_;
  uint64_t bytes_ = 0;
};

// place() and resolve() may run on two threads at once; one each.
class ShmPlaces final : public SharedPlaces {
 public:
  ShmPlaces(ShmRing& ring, ControlSocket& control, std::shared_ptr<SharedArena> arena,
            std::string peer);

  std::optional<SharedRef> place(const Tensor& tensor, bool share_live) override;
  Tensor resolve(const TensorDescriptor& descriptor) override;
  // Lets go of what the peer is done with; belongs to the placing thread.
  void reap();
  // Takes what is on the control socket; false when the peer is gone.
  bool drain();
  void on_event(ControlSocket::Event&& event) { regions_.on_event(std::move(event)); }

 private:
  struct Outstanding {
    uint32_t slot;
    uint64_t sequence;
    Tensor tensor;
  };
  bool announce(const std::shared_ptr<SharedRegion>& region);
  void drop_regions();
  std::shared_ptr<SharedRegion> checked_region(const TensorDescriptor& descriptor);

  ShmRing& ring_;
  ControlSocket& control_;
  const std::shared_ptr<SharedArena> arena_;
  const std::string peer_;
  // Of the placing thread.
  std::vector<Outstanding> outstanding_;
  std::vector<uint32_t> free_slots_;
  uint64_t sequence_ = 0, epoch_ = 0;
  std::unordered_map<uint64_t, std::weak_ptr<SharedRegion>> announced_;
  // Of the resolving thread.
  PeerRegions regions_;
};

}  // namespace capstan
