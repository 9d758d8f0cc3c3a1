#include "kernel/buffer_pool.h"

#include <utility>

namespace capstan {

Tensor BufferPool::take(DType dtype, const Shape& shape) {
  Tensor buffer;
  std::vector<Tensor> outgrown;
  {
    std::lock_guard lock(mutex_);
    const size_t bytes = size_t(shape.elements()) * dtype_size(dtype);
    if (std::exchange(bytes_, bytes) != bytes) outgrown.swap(idle_);
    if (!idle_.empty()) {
      buffer = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!buffer.valid()) buffer = Tensor(dtype, shape);
  void* data = buffer.raw();
  auto give_back = [pool = shared_from_this(), buffer](void*) { pool->give_back(buffer); };
  return Tensor(dtype, shape, data, std::shared_ptr<void>(data, std::move(give_back)));
}

void BufferPool::give_back(Tensor buffer) {
  std::lock_guard lock(mutex_);
  if (buffer.bytes() == bytes_ && idle_.size() < keep_) idle_.push_back(std::move(buffer));
}

}  // namespace capstan
