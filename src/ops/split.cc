// A tensor cut along an axis.

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/columns.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/reduce_axes.h"
#include "ops/types.h"

namespace capstan {
namespace {

int64_t split_part(const Node& node, const Shape& x, int axis, int64_t parts) {
  if (x[axis] >= 0 && x[axis] % parts != 0) {
    throw invalid_argument(
        "Split (node '{}'): dimension {} of {} cannot be cut into {} equal parts", node.name(),
        axis, x, parts);
  }
  return x[axis] < 0 ? -1 : x[axis] / parts;
}

void split_shape(ShapeContext& c) {
  const Shape& x = c.in(1);
  const Tensor* axis_value = c.constant(0);
  Shape part = x;
  if (x.known_rank() && axis_value) {
    int axis = resolve_axis(c.node(), int_at(*axis_value, 0), x.rank());
    part[axis] = split_part(c.node(), x, axis, c.node().outputs());
  } else if (x.known_rank()) {
    part = Shape::unknown_of_rank(x.rank());
  }
  for (int i = 0; i < c.node().outputs(); ++i) c.out(i, part);
}

// sizes[i] along the axis goes to output i.
void split_into(KernelContext& c, const Tensor& x, int axis, std::span<const int64_t> sizes) {
  int64_t outer = outer_of(x.shape(), axis), width = inner_of(x.shape(), axis), offset = 0;
  Shape shape = x.shape();
  for (int i = 0; i < c.outputs(); ++i) {
    shape[axis] = sizes[size_t(i)];
    Tensor& out = c.out(i, shape);
    int64_t chunk = inner_of(shape, axis);
    read_column(x, out, outer, chunk, width, offset);
    offset += chunk;
  }
}

void split_kernel(KernelContext& c) {
  const Tensor& x = c.in(1);
  int axis = resolve_axis(c.node(), int_at(c.in(0), 0), x.shape().rank());
  std::vector<int64_t> sizes(size_t(c.outputs()),
                             split_part(c.node(), x.shape(), axis, c.outputs()));
  split_into(c, x, axis, sizes);
}

// The gradients of all outputs put together again along the axis.
Output concat_grads(GradContext& g, Output axis) {
  std::vector<Output> inputs;
  for (int i = 0; i < g.node().outputs(); ++i) inputs.push_back(g.dy(i));
  if (inputs.size() == 1) return g.op("Identity", {inputs[0]}, {}, "concat");
  inputs.push_back(axis);
  return g.graph().add("ConcatV2", std::span<const Output>(inputs), {}, "concat");
}

constexpr OpDef kSplit = {
    .name = "Split",
    .doc = "The value cut into equal parts along an axis.",
    .inputs = {{"split_dim", "int32", 0}, {"value", "T"}},
    .outputs = {{"output", "num_split*T"}},
    .attrs = {{"num_split", "int>=1"}, {"T", kAnyType}},
    .shape = split_shape,
    .kernel = split_kernel,
    .gradient = [](GradContext& g) -> Values {
      return {{}, concat_grads(g, g.x(0))};
    },
    .samples = {"int32[]{1} float[2,4] num_split=2"},
};

// The sizes with the one -1 among them filled in, which stays where the dimension is not known.
std::vector<int64_t> split_sizes(const Node& node, const Shape& x, int axis, const Tensor& wanted) {
  std::vector<int64_t> sizes = as_ints(wanted);
  int64_t known = 0, open = -1;
  bool fits = int(sizes.size()) == node.outputs();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 0 || (sizes[i] == -1 && open < 0);
    (sizes[i] < 0 ? open : known) = sizes[i] < 0 ? int64_t(i) : add_sizes(known, sizes[i]);
  }
  if (x[axis] >= 0) {
    fits = fits && (open < 0 ? known == x[axis] : known <= x[axis]);
    if (fits && open >= 0) sizes[size_t(open)] = x[axis] - known;
  }
  if (!fits) {
    throw invalid_argument("SplitV (node '{}'): the sizes {} do not add up to dimension {} of {}",
                           node.name(), wanted.text(), axis, x);
  }
  return sizes;
}

void split_v_shape(ShapeContext& c) {
  const Shape& x = c.in(0);
  const Tensor *sizes = c.constant(1), *axis_value = c.constant(2);
  int axis =
      x.known_rank() && axis_value ? resolve_axis(c.node(), int_at(*axis_value, 0), x.rank()) : -1;
  std::vector<int64_t> parts(size_t(c.node().outputs()), -1);
  if (axis >= 0 && sizes) parts = split_sizes(c.node(), x, axis, *sizes);
  for (int i = 0; i < c.node().outputs(); ++i) {
    Shape part = x;
    if (axis >= 0) {
      part[axis] = parts[size_t(i)];
    } else if (x.known_rank()) {
      part = Shape::unknown_of_rank(x.rank());
    }
    c.out(i, part);
  }
}

constexpr OpDef kSplitV = {
    .name = "SplitV",
    .doc = "The value cut into parts of given sizes along an axis; one size may be -1.",
    .inputs = {{"value", "T"}, {"size_splits", "Tlen", 1}, {"split_dim", "int32", 0}},
    .outputs = {{"output", "num_split*T"}},
    .attrs = {{"num_split", "int>=1"}, {"T", kAnyType}, {"Tlen", kIndexTypes, "int64"}},
    .shape = split_v_shape,
    .kernel =
        [](KernelContext& c) {
          const Tensor& x = c.in(0);
          int axis = resolve_axis(c.node(), int_at(c.in(2), 0), x.shape().rank());
          split_into(c, x, axis, split_sizes(c.node(), x.shape(), axis, c.in(1)));
        },
    .gradient = [](GradContext& g) -> Values {
      return {concat_grads(g, g.x(2)), {}, {}};
    },
    .samples = {"float[2,5] int32[2]{2,-1} int32[]{1} num_split=2"},
};

constexpr const OpDef* kRows[] = {&kSplit, &kSplitV};

}  // namespace

OpFamily split_ops() { return kRows; }

}  // namespace capstan
