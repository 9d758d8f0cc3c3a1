#pragma once

// Walks over an output shape and tells where each of N broadcast operands is read. For kernels that
// are not element-wise block functions; those are broadcast by the runner.

#include <array>

#include "tensor/shape.h"

namespace capstan {

template <int N>
class BroadcastWalk {
 public:
  BroadcastWalk(const Shape& out, std::array<const Shape*, N> operands) : out_(out) {
    for (int k = 0; k < N; ++k) {
      int64_t stride = 1;
      const Shape& s = *operands[size_t(k)];
      for (int i = s.rank() - 1, o = out.rank() - 1; i >= 0; --i, --o) {
        strides_[size_t(k)][size_t(o)] = s[i] == 1 ? 0 : stride;
        stride *= s[i];
      }
    }
  }

  int64_t at(int operand) const { return offsets_[size_t(operand)]; }

  // To the next element in row-major order.
  void next() {
    for (int d = out_.rank() - 1; d >= 0; --d) {
      for (int k = 0; k < N; ++k) offsets_[size_t(k)] += strides_[size_t(k)][size_t(d)];
      if (++index_[size_t(d)] < out_[d]) return;
      for (int k = 0; k < N; ++k) offsets_[size_t(k)] -= strides_[size_t(k)][size_t(d)] * out_[d];
      index_[size_t(d)] = 0;
    }
  }

 private:
  const Shape& out_;
  std::array<int64_t, N> offsets_{};
  std::array<int64_t, Shape::kMaxRank> index_{};
  std::array<std::array<int64_t, Shape::kMaxRank>, N> strides_{};
};

}  // namespace capstan
