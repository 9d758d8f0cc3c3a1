#pragma once

// The rows of src/ops, one list per file (or group of files). catalog.cc joins them.

#include <array>
#include <span>

#include "graph/op_def.h"

namespace capstan {

using OpFamily = std::span<const OpDef* const>;

// For files whose rows stand in one array of static lifetime.
template <size_t N>
constexpr std::array<const OpDef*, N> row_pointers(const std::array<OpDef, N>& rows) {
  std::array<const OpDef*, N> pointers{};
  for (size_t i = 0; i < N; ++i) pointers[i] = &rows[i];
  return pointers;
}

OpFamily accumulator_ops();
OpFamily arithmetic_ops();
OpFamily array_ops();
OpFamily comparison_ops();
OpFamily control_ops();
OpFamily fill_ops();
OpFamily index_ops();
OpFamily io_ops();
OpFamily math_ops();
OpFamily matmul_ops();
OpFamily move_ops();
OpFamily nn_ops();
OpFamily queue_ops();
OpFamily random_ops();
OpFamily reduction_ops();
OpFamily slice_ops();
OpFamily softmax_ops();
OpFamily special_ops();
OpFamily state_ops();
OpFamily summary_ops();
OpFamily training_ops();

}  // namespace capstan
