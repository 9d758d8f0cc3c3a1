// Axes in another order, or run through backwards.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/columns.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/reduce_axes.h"
#include "ops/types.h"
#include "ops/window.h"

namespace capstan {
namespace {

Shape permuted(const Node& node, const Shape& x, const Tensor& perm, int64_t* axes) {
  uint32_t seen = 0;
  Shape out;
  for (int64_t i = 0; i < perm.size() && perm.size() == x.rank(); ++i) {
    int64_t axis = int_at(perm, i);
    if (axis < 0 || axis >= x.rank()) break;
    seen |= 1u << axis;
    axes[i] = axis;
    out.push_back(x[int(axis)]);
  }
  if (perm.size() != x.rank() || seen != (1u << x.rank()) - 1) {
    throw invalid_argument("Transpose (node '{}'): {} is not a permutation of the dimensions of {}",
                           node.name(), perm.text(), x);
  }
  return out;
}

void transpose_shape(ShapeContext& c) {
  Shape x = c.in_with_rank_from(0, 1);
  if (!x.known_rank()) return c.out(0, Shape::unknown());
  int64_t axes[Shape::kMaxRank];
  c.out(0, c.constant(1) ? permuted(c.node(), x, *c.constant(1), axes)
                         : Shape::unknown_of_rank(x.rank()));
}

// A transposition reads a window that covers the whole tensor, in another order of steps.
void transpose_kernel(KernelContext& c) {
  const Tensor& x = c.in(0);
  int64_t axes[Shape::kMaxRank], begin[Shape::kMaxRank] = {};
  Tensor& out = c.out(0, permuted(c.node(), x.shape(), c.in(1), axes));
  Window whole = plain_window(x.shape(), begin, x.shape()), window;
  for (int i = 0; i < whole.rank; ++i) window.push_back(whole.sizes[axes[i]], whole.steps[axes[i]]);
  read_window(window, x, out);
}

constexpr OpDef kTranspose = {
    .name = "Transpose",
    .doc = "The input with its dimensions in another order.",
    .inputs = {{"x", "T"}, {"perm", "Tperm", 1}},
    .outputs = {{"y", "T"}},
    .attrs = {{"T", kAnyType}, {"Tperm", kIndexTypes, "int32"}},
    .shape = transpose_shape,
    .kernel = transpose_kernel,
    .gradient = [](GradContext& g) -> Values {
      Output inverse = g.op("InvertPermutation", {g.x(1)});
      return {g.op("Transpose", {g.dy(0), inverse}, {}, "transpose"), {}};
    },
    .samples = {"float[2,3] int32[2]{1,0}", "float[2,3,4] int32[3]{2,0,1}"},
};

// Reads the whole tensor with negative steps along the named axes.
void reverse_kernel(KernelContext& c) {
  const Tensor &x = c.in(0), &axes = c.in(1);
  Tensor& out = c.out(0, x.shape());
  int64_t begin[Shape::kMaxRank] = {};
  Window window = plain_window(x.shape(), begin, x.shape());
  const uint32_t turned = axes_mask(c.node(), axes, x.shape().rank());
  for (int axis = 0; axis < window.rank; ++axis) {
    if (!(turned >> axis & 1)) continue;
    window.start += (window.sizes[axis] - 1) * window.steps[axis];
    window.steps[axis] = -window.steps[axis];
  }
  read_window(window, x, out);
}

constexpr OpDef kReverseV2 = {
    .name = "ReverseV2",
    .python = "reverse reverse_v2",
    .doc = "The input with the order of the elements along some axes turned round.",
    .inputs = {{"tensor", "T"}, {"axis", "Tidx", 1}},
    .outputs = {{"output", "T"}},
    .attrs = {{"Tidx", kIndexTypes, "int32"}, {"T", kAnyType}},
    .shape = same_shape,
    .kernel = reverse_kernel,
    .gradient = [](GradContext& g) -> Values {
      return {g.op("ReverseV2", {g.dy(0), g.x(1)}), {}};
    },
    .samples = {"float[2,3] int32[1]{1}", "float[2,3,2] int32[2]{0,-1}"},
};

constexpr const OpDef* kRows[] = {&kTranspose, &kReverseV2};

}  // namespace

OpFamily transpose_ops() { return kRows; }

}  // namespace capstan
