#pragma once

// Elements of tensors by number, and tensors as rows of columns: for ops that move bytes.

#include "ops/window.h"
#include "tensor/tensor.h"

namespace capstan {

inline char* at(Tensor& t, int64_t element) {
  return static_cast<char*>(t.raw()) + size_t(element) * dtype_size(t.dtype());
}
inline const char* at(const Tensor& t, int64_t element) {
  return static_cast<const char*>(t.raw()) + size_t(element) * dtype_size(t.dtype());
}

// Elements before, and from, an axis on.
inline int64_t outer_of(const Shape& s, int axis) {
  int64_t n = 1;
  for (int i = 0; i < axis; ++i) n *= s[i];
  return n;
}
inline int64_t inner_of(const Shape& s, int axis) {
  int64_t n = 1;
  for (int i = axis; i < s.rank(); ++i) n *= s[i];
  return n;
}

// Copies [outer, chunk] into column `offset` of a tensor whose rows have `width` elements, or back.
inline void write_column(const Tensor& from, Tensor& to, int64_t outer, int64_t chunk,
                         int64_t width, int64_t offset) {
  for (int64_t o = 0; o < outer; ++o) {
    copy_elements(to.dtype(), at(to, o * width + offset), at(from, o * chunk), chunk);
  }
}
inline void read_column(const Tensor& from, Tensor& to, int64_t outer, int64_t chunk, int64_t width,
                        int64_t offset) {
  for (int64_t o = 0; o < outer; ++o) {
    copy_elements(to.dtype(), at(to, o * chunk), at(from, o * width + offset), chunk);
  }
}

}  // namespace capstan
