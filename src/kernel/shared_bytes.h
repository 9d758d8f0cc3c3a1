#pragma once

// The one place where bytes that another thread may be writing are read: variables without locking.
// A reader may see a half-applied update, as in TensorFlow; the thread sanitizer is told so here.

#include "tensor/tensor.h"

namespace capstan {

// Copies the elements of `from`, a live variable, into `to`, of the same dtype and size.
void copy_shared(const Tensor& from, Tensor& to);

}  // namespace capstan
