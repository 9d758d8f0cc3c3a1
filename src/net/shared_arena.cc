#include "net/shared_arena.h"

#include <algorithm>

namespace capstan {
namespace {

constexpr size_t kLine = 64, kPage = 4096;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

std::shared_ptr<SharedArena> SharedArena::make(const ArenaOptions& options) {
  return std::shared_ptr<SharedArena>(new SharedArena(options));
}

Tensor SharedArena::try_allocate(DType dtype, const Shape& shape, Sharing sharing) {
  if (dtype == DType::kString || dtype_size(dtype) == 0) {
    throw invalid_argument("tensors of {} cannot live in shared memory", dtype_name(dtype));
  }
  size_t bytes = 0;
  if (__builtin_mul_overflow(size_t(shape.elements()), dtype_size(dtype), &bytes) ||
      bytes > (size_t(1) << 46)) {
    throw resource_exhausted("a tensor of shape {} is too large for shared memory", shape);
  }
  bytes = round_up(std::max<size_t>(bytes, 1), kLine);
  char* data = nullptr;
  try {
    data = take(bytes, sharing);
  } catch (const Error& e) {
    // A host that has no more descriptors or memory to share: the bytes can travel in a frame.
    if (sharing != Sharing::kFrozen || e.code() != Code::kResourceExhausted) throw;
  }
  if (!data) return {};
  std::shared_ptr<void> owner(
      data, [self = shared_from_this()](void* p) { self->give_back(static_cast<char*>(p)); });
  return Tensor(dtype, shape, data, std::move(owner));
}

Tensor SharedArena::allocate(DType dtype, const Shape& shape, Sharing sharing) {
  Tensor out = try_allocate(dtype, shape, sharing);
  if (!out.valid()) {
    throw resource_exhausted("no shared memory for {} {}: {} of {} bytes are in use (frozen_limit)",
                             dtype_name(dtype), shape, bytes_in_use(), options_.frozen_limit);
  }
  return out;
}

char* SharedArena::take(size_t bytes, Sharing sharing) {
  std::lock_guard lock(mutex_);
  if (sharing == Sharing::kFrozen && frozen_ + bytes > options_.frozen_limit) return nullptr;
  bool own = bytes >= options_.region_bytes / 2;
  for (auto& [base, area] : areas_) {
    // A region of a block's own is reused for blocks of about its size only: no waste, no holes.
    if (area.own != own || (own && area.region->bytes() > bytes + bytes / 4)) continue;
    if (char* data = take_from(area, bytes, sharing)) return data;
  }
  if (own) trim(bytes);
  return take_from(grow(bytes)->second, bytes, sharing);
}

char* SharedArena::take_from(Area& area, size_t bytes, Sharing sharing) {
  auto fits = [&](const auto& hole) { return hole.second >= bytes; };
  auto hole = std::find_if(area.free.begin(), area.free.end(), fits);
  if (hole == area.free.end()) return nullptr;
  auto [offset, room] = *hole;
  area.free.erase(hole);
  if (area.own) {
    idle_own_ -= area.region->bytes();
    bytes = room;
  } else if (room > bytes) {
    area.free.emplace(offset + bytes, room - bytes);
  }
  area.in_use.emplace(offset, Block{bytes, sharing});
  (sharing == Sharing::kFrozen ? frozen_ : live_) += bytes;
  return area.region->data() + offset;
}

SharedArena::Areas::iterator SharedArena::grow(size_t bytes) {
  Area area;
  area.own = bytes >= options_.region_bytes / 2;
  size_t size = area.own ? round_up(bytes, kPage) : options_.region_bytes;
  area.region = SharedRegion::create(random_.u64(), size);
  area.free.emplace(0, size);
  reserved_ += size;
  if (area.own) idle_own_ += size;
  const char* base = area.region->data();
  return areas_.emplace(base, std::move(area)).first;
}

std::optional<SharedArena::Location> SharedArena::locate(const void* data, size_t bytes) const {
  std::lock_guard lock(mutex_);
  auto area = find(areas_, data);
  if (area == areas_.end()) return std::nullopt;
  size_t offset = size_t(static_cast<const char*>(data) - area->first);
  auto next = area->second.in_use.upper_bound(offset);
  if (next == area->second.in_use.begin()) return std::nullopt;
  const auto& [start, block] = *std::prev(next);
  if (offset + bytes > start + block.bytes) return std::nullopt;
  return Location{area->second.region, offset, block.sharing};
}

SharedArena::Block* SharedArena::live_block(const void* data) {
  auto area = find(areas_, data);
  if (area == areas_.end()) return nullptr;
  auto block = area->second.in_use.find(size_t(static_cast<const char*>(data) - area->first));
  bool live = block != area->second.in_use.end() && block->second.sharing == Sharing::kLive;
  return live ? &block->second : nullptr;
}

bool SharedArena::lend(const void* data, std::function<bool()> over) {
  std::lock_guard lock(mutex_);
  Block* block = live_block(data);
  // Whoever writes to a lent block copies it first: for huge ones that is worse than to send them.
  if (!block || block->writers > 0 || block->bytes > options_.frozen_limit) return false;
  std::erase_if(block->loans, [](const auto& loan) { return loan(); });
  block->loans.push_back(std::move(over));
  return true;
}

bool SharedArena::begin_write(const void* data) {
  std::lock_guard lock(mutex_);
  Block* block = live_block(data);
  if (!block) return true;
  std::erase_if(block->loans, [](const auto& loan) { return loan(); });
  if (!block->loans.empty()) return false;
  ++block->writers;
  return true;
}

void SharedArena::end_write(const void* data) {
  std::lock_guard lock(mutex_);
  if (Block* block = live_block(data)) --block->writers;
}

void SharedArena::give_back(char* data) {
  std::lock_guard lock(mutex_);
  auto found = find(areas_, data);
  CAPSTAN_CHECK(found != areas_.end());
  Area& area = found->second;
  auto block = area.in_use.find(size_t(data - found->first));
  CAPSTAN_CHECK(block != area.in_use.end());
  auto [offset, was] = std::move(*block);
  area.in_use.erase(block);
  (was.sharing == Sharing::kFrozen ? frozen_ : live_) -= was.bytes;

  auto hole = area.free.emplace(offset, was.bytes).first;
  auto next = std::next(hole);
  if (next != area.free.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    area.free.erase(next);
  }
  if (hole != area.free.begin()) {
    auto before = std::prev(hole);
    if (before->first + before->second == hole->first) {
      before->second += hole->second;
      area.free.erase(hole);
    }
  }
  if (area.own) idle_own_ += area.region->bytes();
  trim(0);
}

// Large regions are kept for the next step's tensors, as long as the limit allows: making one anew
// costs a page fault per page on both sides.
void SharedArena::trim(size_t wanted) {
  for (auto at = areas_.begin(); at != areas_.end();) {
    if (frozen_ + idle_own_ + wanted <= options_.frozen_limit) return;
    if (!at->second.own || !at->second.in_use.empty()) {
      ++at;
      continue;
    }
    size_t bytes = at->second.region->bytes();
    idle_own_ -= bytes;
    reserved_ -= bytes;
    at = areas_.erase(at);
    epoch_.fetch_add(1, std::memory_order_release);
  }
}

size_t SharedArena::bytes_in_use() const {
  std::lock_guard lock(mutex_);
  return frozen_ + live_;
}

size_t SharedArena::bytes_reserved() const {
  std::lock_guard lock(mutex_);
  return reserved_;
}

}  // namespace capstan
