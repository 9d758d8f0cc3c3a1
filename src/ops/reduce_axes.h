#pragma once

// Which elements of a tensor join when axes are reduced: neighbouring dimensions of one kind are
// merged, so that kernels see rows of contiguous elements.

#include <cstdint>

#include "graph/node.h"
#include "tensor/tensor.h"

namespace capstan {

// One bit per axis; negative axes count from the end. Throws InvalidArgument naming the node.
uint32_t axes_mask(const Node& node, const Tensor& axes, int rank);
// The shape without the masked axes, or with ones in their place.
Shape reduced(const Shape& shape, uint32_t mask, bool keep_dims);

struct ReduceGroups {
  ReduceGroups(const Shape& shape, uint32_t mask);

  int64_t outputs = 1;
  int64_t inner = 1;           // elements of a row: the innermost merged dimension
  bool inner_reduced = false;  // a row becomes one element, or is joined with others

  // A matrix whose rows are each reduced to one element, or whose rows are joined into one.
  bool is_rows() const { return inner_reduced && (rank_ == 0 || (rank_ == 1 && strides_[0] != 0)); }
  bool is_columns() const { return !inner_reduced && rank_ == 1 && strides_[0] == 0; }
  int64_t outer() const { return rank_ == 1 ? dims_[0] : 1; }

  // f(first element of the row, first output it belongs to), in order of the input.
  template <class F>
  void for_each_row(F&& f) const {
    int64_t rows = 1;
    for (int d = 0; d < rank_; ++d) rows *= dims_[d];
    int64_t index[Shape::kMaxRank] = {}, to = 0;
    for (int64_t row = 0; row < rows; ++row) {
      f(row * inner, to);
      for (int d = rank_ - 1; d >= 0; --d) {
        to += strides_[d];
        if (++index[d] < dims_[d]) break;
        to -= strides_[d] * dims_[d];
        index[d] = 0;
      }
    }
  }

 private:
  int rank_ = 0;  // merged dimensions outside the row
  int64_t dims_[Shape::kMaxRank];
  int64_t strides_[Shape::kMaxRank];  // in outputs; 0 where reduced
};

}  // namespace capstan
