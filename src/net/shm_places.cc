#include "net/shm_places.h"

#include <cstring>

namespace capstan {
namespace {

// Below this, two small copies through the ring cost less than a block and its way back.
constexpr size_t kInlineBytes = 8 << 10;
constexpr size_t kMaxRegions = 65536;
constexpr uint64_t kMaxMappedBytes = 1ull << 42;
constexpr uint64_t kAlign = 64;

// A look at a peer's tensor. Its end, on whatever thread, is our word that we are done.
class View {
 public:
  View(std::shared_ptr<SharedRegion> data, std::shared_ptr<SharedRegion> own, const SharedRef& ref)
      : data_(std::move(data)), own_(std::move(own)), slot_(ref.slot), sequence_(ref.sequence) {}
  ~View() { reinterpret_cast<LaneMemory*>(own_->data())->acks[slot_].store(sequence_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

 private:
  const std::shared_ptr<SharedRegion> data_, own_;
  const uint32_t slot_;
  const uint64_t sequence_;
};

// What decides addresses and sizes later is copied, so that the peer cannot change it after it was
// checked.
bool may_be_viewed(DType dtype) { return is_floating(dtype) || dtype == DType::kComplex64; }

}  // namespace

void PeerRegions::on_event(ControlSocket::Event&& event) {
  if (event.kind == ControlSocket::Kind::kDrop) {
    auto found = regions_.find(event.id);
    if (found == regions_.end()) return;
    bytes_ -= found->second->bytes();
    regions_.erase(found);
    return;
  }
  if (event.kind != ControlSocket::Kind::kRegion || regions_.contains(event.id)) {
    throw data_loss("{} passed a region of shared memory twice", peer_);
  }
  if (regions_.size() >= kMaxRegions || event.bytes > kMaxMappedBytes - bytes_) {
    throw resource_exhausted("{} passed more than {} regions or {} bytes of shared memory", peer_,
                             kMaxRegions, kMaxMappedBytes);
  }
  regions_.emplace(event.id, SharedRegion::map(event.id, std::move(event.fd), event.bytes, peer_));
  bytes_ += event.bytes;
}

std::shared_ptr<SharedRegion> PeerRegions::find(uint64_t id) const {
  auto found = regions_.find(id);
  return found == regions_.end() ? nullptr : found->second;
}

ShmPlaces::ShmPlaces(ShmRing& ring, ControlSocket& control, std::shared_ptr<SharedArena> arena,
                     std::string peer)
    : ring_(ring),
      control_(control),
      arena_(std::move(arena)),
      peer_(std::move(peer)),
      regions_(peer_) {
  for (uint32_t slot = 0; slot < kAckSlots; ++slot) free_slots_.push_back(slot);
}

std::optional<SharedRef> ShmPlaces::place(const Tensor& tensor, bool share_live) {
  if (tensor.bytes() < kInlineBytes || free_slots_.empty()) return std::nullopt;
  const uint32_t slot = free_slots_.back();
  const uint64_t sequence = ++sequence_;
  Tensor placed = tensor;
  auto where = arena_->locate(tensor.raw(), tensor.bytes());
  bool visible = where && where->offset % kAlign == 0 &&
                 (where->sharing == Sharing::kFrozen ||
                  (share_live && arena_->lend(tensor.raw(), ring_.end_of_loan(slot, sequence))));
  if (!visible) {
    placed = arena_->try_allocate(tensor.dtype(), tensor.shape());
    if (!placed.valid()) return std::nullopt;
    std::memcpy(placed.raw(), tensor.raw(), tensor.bytes());
    where = arena_->locate(placed.raw(), placed.bytes());
  }
  if (!announce(where->region)) return std::nullopt;
  SharedRef ref{where->region->id(), where->offset, sequence, slot};
  free_slots_.pop_back();
  outstanding_.push_back({ref.slot, ref.sequence, std::move(placed)});
  return ref;
}

bool ShmPlaces::announce(const std::shared_ptr<SharedRegion>& region) {
  if (announced_.contains(region->id())) return true;
  if (!control_.send_region(ControlSocket::Kind::kRegion, *region)) return false;
  announced_.emplace(region->id(), region);
  return true;
}

void ShmPlaces::reap() {
  if (outstanding_.empty() && announced_.empty()) return;
  std::erase_if(outstanding_, [this](const Outstanding& one) {
    if (ring_.ack_of_peer(one.slot) != one.sequence) return false;
    free_slots_.push_back(one.slot);
    return true;
  });
  drop_regions();
}

void ShmPlaces::drop_regions() {
  uint64_t epoch = arena_->epoch();
  if (epoch == epoch_) return;
  bool all_told = true;
  std::erase_if(announced_, [&](const auto& one) {
    if (!one.second.expired()) return false;
    bool told = control_.send_drop(one.first);
    all_told &= told;
    return told;
  });
  if (all_told) epoch_ = epoch;
}

bool ShmPlaces::drain() {
  return control_.drain([this](ControlSocket::Event&& e) { regions_.on_event(std::move(e)); });
}

std::shared_ptr<SharedRegion> ShmPlaces::checked_region(const TensorDescriptor& d) {
  auto region = regions_.find(d.ref.region);
  if (!region) {
    // The peer passed it before it wrote the frame, so it is there to be taken.
    drain();
    region = regions_.find(d.ref.region);
  }
  if (!region || d.ref.slot >= kAckSlots || d.ref.offset % kAlign != 0 ||
      d.bytes > region->bytes() || d.ref.offset > region->bytes() - d.bytes) {
    throw data_loss("{} pointed outside of its shared memory", peer_);
  }
  return region;
}

Tensor ShmPlaces::resolve(const TensorDescriptor& d) {
  auto region = checked_region(d);
  char* data = region->data() + d.ref.offset;
  auto view = std::make_shared<View>(region, ring_.own_region(), d.ref);
  if (may_be_viewed(d.dtype)) return Tensor::view(d.dtype, d.shape, data, std::move(view));
  Tensor copy(d.dtype, d.shape);
  if (d.bytes > 0) std::memcpy(copy.raw(), data, d.bytes);
  return copy;
}

}  // namespace capstan
