#pragma once

// How rows of two operands that broadcast are written.

#include <utility>

#include "graph/gradients.h"
#include "graph/shape_context.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"

namespace capstan {

constexpr OpDef binary(std::string_view name, std::string_view doc, std::string_view types,
                       BlockFn (*block)(DType, Isa), Values (*gradient)(GradContext&),
                       RowList<std::string_view, 4> samples = {"float[2,3] float[3]"}) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"x", "T"}, {"y", "T"}},
          .outputs = {{"z", "T"}},
          .attrs = {{"T", types}},
          .shape = broadcast_shape,
          .block = block,
          .gradient = gradient,
          .samples = samples};
}

inline Values pair(std::pair<Output, Output> grads) { return {grads.first, grads.second}; }

}  // namespace capstan
