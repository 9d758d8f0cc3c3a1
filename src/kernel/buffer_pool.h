#pragma once

// Buffers of one size that go round: a tensor taken from here brings its bytes back when its last
// holder lets go, so that a steady flow of large values costs no page faults.

#include <memory>
#include <mutex>
#include <vector>

#include "tensor/tensor.h"

namespace capstan {

// Thread-safe. Numbers only. Keeps at most `keep` idle buffers, all of the size last asked for.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  explicit BufferPool(size_t keep = 2) : keep_(keep) {}

  // Uninitialised. Pools must be owned by a shared_ptr: tensors may outlive their users.
  Tensor take(DType dtype, const Shape& shape);

 private:
  void give_back(Tensor buffer);

  const size_t keep_;
  std::mutex mutex_;
  size_t bytes_ = 0;
  std::vector<Tensor> idle_;
};

}  // namespace capstan
