#pragma once

// Reads of variables without locking; see base/unlocked_copy.h.

#include "tensor/tensor.h"

namespace capstan {

// Copies the elements of `from`, a live variable, into `to`, of the same dtype and size.
void copy_shared(const Tensor& from, Tensor& to);

}  // namespace capstan
