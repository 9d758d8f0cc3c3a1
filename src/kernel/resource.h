#pragma once

// Anything that lives on a task longer than a step and is not a variable: queues, accumulators.
// A handle to one travels between ops of a task as a tensor (dtype resource, or a string reference
// in ops of TensorFlow's older kind) whose owner is the object itself.

#include <memory>
#include <string>

#include "tensor/tensor.h"

namespace capstan {

class Resource : public std::enable_shared_from_this<Resource> {
 public:
  virtual ~Resource() = default;
  virtual std::string_view kind() const = 0;  // "FIFOQueue", for messages
};

// `shape` is what the op announces, as TensorFlow's does: for some a scalar, for some a pair.
inline Tensor resource_tensor(DType dtype, const Shape& shape, std::shared_ptr<Resource> resource) {
  void* raw = resource.get();
  return Tensor(dtype, shape, raw, std::move(resource));
}

// Throws InvalidArgument when the tensor holds no resource of type R.
template <class R>
std::shared_ptr<R> resource_of(const Tensor& handle) {
  auto base = std::static_pointer_cast<Resource>(handle.owner());
  auto resource = std::dynamic_pointer_cast<R>(base);
  if (!resource) {
    throw invalid_argument("the handle is one of a {}, which this op cannot use",
                           base ? base->kind() : "resource that does not exist");
  }
  return resource;
}

}  // namespace capstan
