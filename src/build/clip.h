#pragma once

// Values and gradients kept within bounds.

#include "build/basics.h"

namespace capstan {

Output clip_by_value(Output x, const Hyper& low, const Hyper& high,
                     std::string_view name = "clip_by_value");
// Scaled down to a length of clip_norm, along these axes, where it is longer.
Output clip_by_norm(Output x, const Hyper& clip_norm, const Axes& axes = {},
                    std::string_view name = "clip_by_norm");

// The length of all tensors together. Default Outputs (variables without a gradient) do not count.
Output global_norm(Graph& graph, std::span<const Output> tensors,
                   std::string_view name = "global_norm");
// All scaled down together where `norm`, their global norm, is over clip_norm.
std::vector<Output> clip_by_global_norm(std::span<const Output> tensors, const Hyper& clip_norm,
                                        Output norm, std::string_view name = "clip_by_global_norm");

}  // namespace capstan
