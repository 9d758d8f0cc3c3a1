// Values and gradients kept within bounds.

#include "build/composites.h"
#include "build/operators.h"

namespace capstan {

Output clip_by_value(Output x, const Hyper& low, const Hyper& high, std::string_view name) {
  Composite made(x.graph(), name);
  return binary("Maximum", binary("Minimum", x, high), low, made.self);
}

Output clip_by_norm(Output x, const Hyper& clip_norm, const Axes& axes, std::string_view name) {
  Graph& g = x.graph();
  Composite made(g, name);
  Output squares = reduce("Sum", x * x, axes, true);
  // The root of 0 has no gradient.
  Output positive = binary("Greater", squares, 0.0);
  Output safe = g.add("Select", {positive, squares, ones_like(squares)});
  Output norm = g.add("Select", {positive, g.add("Sqrt", {safe}), squares});
  Output scaled = binary("Mul", x, clip_norm, "mul");
  return g.add("Identity", {scaled / binary("Maximum", norm, clip_norm)}, {}, made.self);
}

Output global_norm(Graph& g, std::span<const Output> tensors, std::string_view name) {
  Composite made(g, name);
  std::vector<Output> halves;
  for (const Output& tensor : tensors) {
    if (!tensor) continue;
    auto with = g.colocate_with(tensor.node);
    halves.push_back(g.add("L2Loss", {tensor}));
  }
  if (halves.empty()) return g.constant(Tensor::scalar(0.0f), "global_norm");
  Output half = reduce("Sum", g.add("Pack", halves, {{"axis", int64_t(0)}}, "stack"));
  Output two = g.constant(scalar_of(half.dtype(), 2));
  return g.add("Sqrt", {half * two}, {}, "global_norm");
}

std::vector<Output> clip_by_global_norm(std::span<const Output> tensors, const Hyper& clip_norm,
                                        Output norm, std::string_view name) {
  Graph& g = norm.graph();
  Composite made(g, name);
  Output inverse = 1.0 / norm;
  Output one = g.constant(scalar_of(norm.dtype(), 1));
  Output bound = binary("Minimum", inverse, binary("RealDiv", one, clip_norm, "truediv"));
  Output finite = binary("Mul", clip_norm, bound, "mul");
  // 0 where the norm is finite, and else NaN, which says so in every tensor.
  Output scale = finite + (norm - norm);
  std::vector<Output> clipped;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i]) {
      clipped.emplace_back();
      continue;
    }
    auto with = g.colocate_with(tensors[i].node);
    std::string own = fmt::format("{}_{}", made.self, i);
    clipped.push_back(g.add("Identity", {tensors[i] * scale}, {}, own));
  }
  return clipped;
}

namespace {

constexpr CompositeDef kRows[] = {
    {.name = "clip_by_value",
     .python = "clip_by_value (t, clip_value_min: type of t, clip_value_max: type of t, name=None)",
     .doc = "Each element, or the bound that it is beyond.",
     .scope = "clip_by_value",
     .build = builder<clip_by_value>},
    {.name = "clip_by_norm",
     .python = "clip_by_norm (t, clip_norm: type of t, axes=None, name=None)",
     .doc = "Scaled down to a length of clip_norm, along these axes, where it is longer.",
     .scope = "clip_by_norm",
     .build = builder<clip_by_norm>},
    {.name = "global_norm",
     .python = "global_norm (t_list, name=None)",
     .doc = "The length of all tensors together. None (a variable without a gradient) does not "
            "count.",
     .scope = "global_norm",
     .build = builder<global_norm>},
    {.name = "clip_by_global_norm",
     .python = "(t_list, clip_norm, norm, name=None)",
     .doc = "All scaled down together where `norm`, their global norm, is over clip_norm.",
     .scope = "clip_by_global_norm",
     .build = builder<clip_by_global_norm>},
};

}  // namespace

CompositeFamily clip_composites() { return kRows; }

}  // namespace capstan
