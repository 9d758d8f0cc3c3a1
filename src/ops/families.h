#pragma once

// The rows of src/ops: <file>.cc hands out its own as `OpFamily <file>_ops()`, and that is all it
// takes for the catalog to have them.

#include <array>
#include <span>
#include <vector>

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

// Those of all files, in the order of their names; generated (cmake/families.cmake).
std::vector<OpFamily> op_families();

}  // namespace capstan
