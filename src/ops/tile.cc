// A tensor repeated.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/columns.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/reduce_axes.h"
#include "ops/types.h"

namespace capstan {
namespace {

Shape tiled(const Shape& x, const Tensor& multiples) {
  if (multiples.size() != x.rank()) {
    throw invalid_argument("Tile of shape {} needs {} multiples, but got {}", x, x.rank(),
                           multiples.size());
  }
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    int64_t times = int_at(multiples, i);
    if (times < 0)
      throw invalid_argument("Tile: the multiples {} hold a negative number", multiples.text());
    out.push_back(x[i] < 0 ? (times == 0 ? 0 : -1) : multiply_sizes(x[i], times));
  }
  return out;
}

// Writes one tile of the dimensions from d on, then copies what was written.
template <class T>
T* tile_from(int d, const Shape& x, const Tensor& multiples, const T*& in, T* out) {
  if (d == x.rank()) {
    *out = *in++;
    return out + 1;
  }
  T* start = out;
  for (int64_t i = 0; i < x[d]; ++i) out = tile_from(d + 1, x, multiples, in, out);
  int64_t size = out - start;
  for (int64_t k = 1; k < int_at(multiples, d); ++k) out = std::copy_n(start, size, out);
  return out;
}

template <class T>
void tile(KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(0, tiled(x.shape(), c.in(1)));
  const T* in = x.data<T>();
  if (out.size() == 0) return;
  if (x.size() == 1) {
    std::fill_n(out.data<T>(), out.size(), *in);
  } else {
    tile_from(0, x.shape(), c.in(1), in, out.data<T>());
  }
}

using Kernel = void (*)(KernelContext&);

Values tile_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output shape = shape_of(graph, g.x(0), g.x(1).dtype());
  // The gradient as [multiple, size] per dimension, then summed over the multiples.
  Output pairs = stack(graph, {g.x(1), shape});
  Output turned = node(graph, "Transpose", {pairs, ints({1, 0})}, {}, "transpose");
  Output split_shape = reshape(graph, turned, ints({-1}));
  Output axes = range(graph, size_of(graph, split_shape), 2);
  Output sum = reduce_sum(graph, reshape(graph, g.dy(0), split_shape), axes);
  graph.set_shape(sum, g.x(0).shape());
  return {sum, {}};
}

constexpr OpDef kTile = {
    .name = "Tile",
    .python = "tile",
    .doc = "The input repeated `multiples` times in each dimension.",
    .inputs = {{"input", "T"}, {"multiples", "Tmultiples", 1}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"Tmultiples", kIndexTypes, "int32"}},
    .shape =
        [](ShapeContext& c) {
          Shape x = c.in_with_rank_from(0, 1);
          if (!x.known_rank()) return c.out(0, Shape::unknown());
          c.out(0, c.constant(1) ? tiled(x, *c.constant(1)) : Shape::unknown_of_rank(x.rank()));
        },
    .kernel = [](KernelContext& c) { c.state<Kernel>()(c); },
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_size(node, node.output_type(0), [](auto tag) -> Kernel {
        return tile<typename decltype(tag)::type>;
      }));
    },
    .gradient = tile_gradient,
    .samples = {"float[2,3] int32[2]{2,3}", "float[1,1] int32[2]{2,3}"},
};

constexpr const OpDef* kRows[] = {&kTile};

}  // namespace

OpFamily tile_ops() { return kRows; }

}  // namespace capstan
