#pragma once

// How a broadcast operand is walked: dimensions that all operands pass through in one stride are
// merged, so that most broadcasts become a few rows of copies or fills.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/shape.h"

namespace capstan {

// Strides in elements, one per merged dimension; 0 where the operand is broadcast.
using Strides = std::array<int64_t, Shape::kMaxRank>;

// The output's dimensions after merging, and each operand's strides over them. The innermost stride
// of an operand is 0 or 1.
struct MergedDims {
  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> dims{};
  std::vector<Strides> strides;  // by operand

  int64_t inner() const { return rank == 0 ? 1 : dims[size_t(rank - 1)]; }
};

// `operands` broadcast to `shape`; throws InvalidArgument naming both shapes when one does not.
MergedDims merge_dims(std::span<const Shape* const> operands, const Shape& shape);

// Element offset of row `row` (an index over all dimensions but the innermost).
int64_t row_offset(const MergedDims& dims, const Strides& strides, int64_t row);

// n copies of one element.
void fill_elements(void* out, const void* value, size_t element_size, int64_t n);

// One row, `rows` times.
void repeat_row(void* out, const void* row, size_t row_bytes, int64_t rows);

// Writes the rows [first, first + rows) of a broadcast operand, one after another.
void gather_rows(const MergedDims& dims, const Strides& strides, const void* data,
                 size_t element_size, int64_t first, int64_t rows, void* out);

}  // namespace capstan
