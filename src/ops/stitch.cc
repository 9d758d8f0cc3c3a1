// Rows put where indices say, and permutations.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/columns.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/row_shapes.h"
#include "ops/types.h"

namespace capstan {
namespace {

Shape stitched_row(const Node& node, const Shape& indices, const Shape& data) {
  return rest_behind(node, data, indices, "its indices");
}

// Inputs: N tensors of indices, then N of data. merged[indices[m][i]] = data[m][i].
void dynamic_stitch_kernel(KernelContext& c) {
  int count = c.inputs() / 2;
  int64_t rows = 0;
  for (int m = 0; m < count; ++m) {
    for (int64_t i = 0; i < c.in(m).size(); ++i) rows = std::max(rows, int_at(c.in(m), i) + 1);
  }
  Shape row = Shape::unknown();
  for (int m = 0; m < count; ++m)
    row = row.merged_with(stitched_row(c.node(), c.in(m).shape(), c.in(count + m).shape()));
  Tensor& out = c.out(0, rows_of(rows, row));
  fill_zero(out);
  const int64_t width = row.elements();
  for (int m = 0; m < count; ++m) {
    const Tensor &indices = c.in(m), &data = c.in(count + m);
    for (int64_t i = 0; i < indices.size(); ++i) {
      int64_t row = int_at(indices, i);
      if (row < 0)
        throw invalid_argument("DynamicStitch: indices[{}][{}] = {} is negative", m, i, row);
      copy_elements(out.dtype(), at(out, row * width), at(data, i * width), width);
    }
  }
}

void dynamic_stitch_shape(ShapeContext& c) {
  int count = c.inputs() / 2;
  Shape row = Shape::unknown();
  for (int m = 0; m < count; ++m) {
    if (!c.in(m).known_rank() || !c.in(count + m).known_rank()) continue;
    row = row.merged_with(stitched_row(c.node(), c.in(m), c.in(count + m)));
  }
  if (!row.known_rank()) return c.out(0, Shape::unknown());
  int64_t rows = 0;
  for (int m = 0; m < count && rows >= 0; ++m) {
    const Tensor* known = c.constant(m);
    for (int64_t i = 0; known && i < known->size(); ++i)
      rows = std::max(rows, int_at(*known, i) + 1);
    if (!known) rows = -1;
  }
  c.out(0, rows_of(rows, row));
}

Values dynamic_stitch_gradient(GradContext& g) {
  size_t count = g.node().inputs().size() / 2;
  Values grads(count);
  for (size_t i = 0; i < count; ++i) grads.push_back(gather(g.graph(), g.dy(0), g.x(int(i))));
  return grads;
}

constexpr OpDef kDynamicStitch = {
    .name = "DynamicStitch",
    .python = "dynamic_stitch",
    .doc = "Rows of several tensors put where their indices say; later ones win.",
    .inputs = {{"indices", "N*int32"}, {"data", "N*T"}},
    .outputs = {{"merged", "T"}},
    .attrs = {{"N", "int>=1"}, {"T", kAnyType}},
    .shape = dynamic_stitch_shape,
    .kernel = dynamic_stitch_kernel,
    .gradient = dynamic_stitch_gradient,
    .samples = {"int32[2]{0,2} int32[1]{1} float[2,3] float[1,3]"},
};

void invert_permutation_kernel(KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) set_int(y, i, -1);
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t to = int_at(x, i);
    if (to < 0 || to >= x.size() || int_at(y, to) != -1) {
      throw invalid_argument("InvertPermutation: {} is not a permutation", x.text());
    }
    set_int(y, to, i);
  }
}

constexpr OpDef kInvertPermutation = {
    .name = "InvertPermutation",
    .python = "invert_permutation math.invert_permutation",
    .doc = "The permutation that undoes this one.",
    .inputs = {{"x", "T", 1}},
    .outputs = {{"y", "T"}},
    .attrs = {{"T", kIndexTypes, "int32"}},
    .shape = same_shape,
    .kernel = invert_permutation_kernel,
    .no_gradient = true,
    .samples = {"int32[4]{3,0,2,1}"},
};

constexpr const OpDef* kRows[] = {&kDynamicStitch, &kInvertPermutation};

}  // namespace

OpFamily stitch_ops() { return kRows; }

}  // namespace capstan
