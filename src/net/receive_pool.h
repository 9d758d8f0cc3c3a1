#pragma once

// Memory that tensors are received into, step after step. A buffer comes back when the last holder
// of its tensor lets go, and serves the next tensor of that size: fresh memory costs a page fault
// every four kilobytes, which is more than to copy as much.

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "tensor/tensor.h"

namespace capstan {

// Thread-safe. Owned by a shared_ptr: tensors may outlive the connection.
class ReceivePool : public std::enable_shared_from_this<ReceivePool> {
 public:
  // Keeps at most so many idle bytes.
  explicit ReceivePool(size_t keep = 16u << 20) : keep_(keep) {}

  // Uninitialised. Numbers only.
  Tensor take(DType dtype, const Shape& shape);
  size_t idle_bytes() const;

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  using Buffer = std::unique_ptr<void, Free>;

  Buffer find(size_t bytes);
  void give_back(size_t bytes, Buffer buffer);

  const size_t keep_;
  mutable std::mutex mutex_;
  std::multimap<size_t, Buffer> idle_;
  size_t idle_bytes_ = 0;
};

}  // namespace capstan
