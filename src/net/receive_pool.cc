#include "net/receive_pool.h"

#include "tensor/memory.h"

namespace capstan {
namespace {

// Smaller ones come from memory that the allocator keeps anyway.
constexpr size_t kSmallest = 64 << 10;

}  // namespace

Tensor ReceivePool::take(DType dtype, const Shape& shape) {
  size_t bytes = size_t(shape.elements()) * dtype_size(dtype);
  if (bytes < kSmallest || bytes > keep_) return Tensor(dtype, shape);
  Buffer buffer = find(bytes);
  if (!buffer) buffer.reset(allocate_bytes(bytes));
  if (!buffer) throw resource_exhausted("no memory to receive {} {}", dtype_name(dtype), shape);
  void* data = buffer.release();
  std::shared_ptr<void> owner(
      data, [self = shared_from_this(), bytes](void* p) { self->give_back(bytes, Buffer(p)); });
  return Tensor(dtype, shape, data, std::move(owner));
}

ReceivePool::Buffer ReceivePool::find(size_t bytes) {
  std::lock_guard lock(mutex_);
  auto found = idle_.find(bytes);
  if (found == idle_.end()) return nullptr;
  Buffer buffer = std::move(found->second);
  idle_.erase(found);
  idle_bytes_ -= bytes;
  return buffer;
}

void ReceivePool::give_back(size_t bytes, Buffer buffer) {
  std::lock_guard lock(mutex_);
  // Sizes that are asked for no more make way for those that are.
  while (!idle_.empty() && idle_bytes_ + bytes > keep_) {
    idle_bytes_ -= idle_.begin()->first;
    idle_.erase(idle_.begin());
  }
  idle_bytes_ += bytes;
  idle_.emplace(bytes, std::move(buffer));
}

size_t ReceivePool::idle_bytes() const {
  std::lock_guard lock(mutex_);
  return idle_bytes_;
}

}  // namespace capstan
