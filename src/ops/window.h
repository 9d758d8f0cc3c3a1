#pragma once

// A strided window of a tensor, and the bytes moved in and out of it: Slice, StridedSlice, Pad and
// their gradients are all this.

#include <cstdint>

#include "tensor/tensor.h"

namespace capstan {

// n elements, one after another; strings are copied as strings.
void copy_elements(DType dtype, void* to, const void* from, int64_t n);
void fill_zero(Tensor& t);

// Which elements of a large tensor a small one stands for.
struct Window {
  int rank = 0;
  int64_t start = 0;               // first element, in elements of the large tensor
  int64_t sizes[Shape::kMaxRank];  // of the small tensor
  int64_t steps[Shape::kMaxRank];  // in elements of the large tensor
  int64_t elements() const;

  void push_back(int64_t size, int64_t step) { sizes[rank] = size, steps[rank++] = step; }
};

// The window at `begin` with the shape `size`, of a tensor of shape `large`; steps of one.
Window plain_window(const Shape& large, const int64_t* begin, const Shape& size);

// large[window] -> small, and small -> large[window]; the rest of `large` is left alone.
void read_window(const Window& window, const Tensor& large, Tensor& small);
void write_window(const Window& window, const Tensor& small, Tensor& large);

}  // namespace capstan
