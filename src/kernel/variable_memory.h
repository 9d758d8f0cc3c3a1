#pragma once

// Where variables have their bytes. Peers on this host may look at them without a copy; what they
// look at does not change under them.

#include "tensor/tensor.h"

namespace capstan {

// Plain memory, which nobody else sees. Thread-safe.
class VariableMemory {
 public:
  virtual ~VariableMemory() = default;
  virtual Tensor allocate(DType dtype, const Shape& shape) { return Tensor(dtype, shape); }
  // Before and after a change in place. False when a peer looks at the bytes: they have to stay as
  // they are, and the change happens to a copy. Nobody begins to look between the two.
  virtual bool begin_write(const Tensor&) { return true; }
  virtual void end_write(const Tensor&) {}
};

}  // namespace capstan
