// Tensors stacked along a new axis, and taken apart along one.

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/columns.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/reduce_axes.h"
#include "ops/types.h"

namespace capstan {
namespace {

std::shared_ptr<void> prepare_axis(const Node& node) {
  return std::make_shared<int64_t>(node.attrs().get<int64_t>("axis"));
}

Shape with_axis(const Shape& shape, int axis, int64_t dim) {
  Shape out;
  for (int i = 0; i <= shape.rank(); ++i) {
    if (i == axis) out.push_back(dim);
    if (i < shape.rank()) out.push_back(shape[i]);
  }
  return out;
}

void pack_shape(ShapeContext& c) {
  Shape shape = c.in(0);
  for (int i = 1; i < c.inputs(); ++i) shape = shape.merged_with(c.in(i));
  if (!shape.known_rank()) return c.out(0, shape);
  c.out(0, with_axis(shape, resolve_axis(c.node(), c.attr<int64_t>("axis"), shape.rank() + 1),
                     c.inputs()));
}

void pack_kernel(KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  int axis = resolve_axis(c.node(), c.state<int64_t>(), shape.rank() + 1);
  Tensor& out = c.out(0, with_axis(shape, axis, c.inputs()));
  int64_t outer = outer_of(shape, axis), chunk = inner_of(shape, axis);
  for (int i = 0; i < c.inputs(); ++i) {
    if (c.in(i).shape() != shape) {
      throw invalid_argument(
          "Pack needs values of one shape, but value 0 has {} and value {} has {}", shape, i,
          c.in(i).shape());
    }
    write_column(c.in(i), out, outer, chunk, chunk * c.inputs(), chunk * i);
  }
}

Values pack_gradient(GradContext& g) {
  std::vector<Output> dy = {g.dy(0)};
  int64_t count = int64_t(g.node().inputs().size());
  Node& parts = g.graph().add_node("Unpack", dy,
                                   {{"num", count}, {"axis", g.attr<int64_t>("axis")}}, "unstack");
  Values grads;
  for (int i = 0; i < parts.outputs(); ++i) grads.push_back(parts.output(i));
  return grads;
}

constexpr OpDef kPack = {
    .name = "Pack",
    .doc = "Values of one shape side by side along a new axis.",
    .inputs = {{"values", "N*T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"N", "int>=1"}, {"T", kAnyType}, {"axis", "int", "0"}},
    .shape = pack_shape,
    .kernel = pack_kernel,
    .prepare = prepare_axis,
    .gradient = pack_gradient,
    .moves = true,
    .foretold = true,
    .samples = {"float[2,3] float[2,3]", "float[2,3] float[2,3] axis=-1",
                "string[]{a} string[]{b}"},
};

Shape without_axis(const Shape& shape, int axis) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) out.push_back(shape[i]);
  }
  return out;
}

int unpack_axis(const Node& node, const Shape& x, int64_t axis_value) {
  int axis = resolve_axis(node, axis_value, x.rank());
  if (x[axis] >= 0 && x[axis] != node.outputs()) {
    throw invalid_argument("Unpack (node '{}') makes {} tensors, but dimension {} of {} is {}",
                           node.name(), node.outputs(), axis, x, x[axis]);
  }
  return axis;
}

void unpack_shape(ShapeContext& c) {
  const Shape& x = c.in(0);
  Shape part = Shape::unknown();
  if (x.known_rank()) part = without_axis(x, unpack_axis(c.node(), x, c.attr<int64_t>("axis")));
  for (int i = 0; i < c.node().outputs(); ++i) c.out(i, part);
}

void unpack_kernel(KernelContext& c) {
  const Tensor& x = c.in(0);
  int axis = unpack_axis(c.node(), x.shape(), c.state<int64_t>());
  Shape part = without_axis(x.shape(), axis);
  int64_t outer = outer_of(part, axis), chunk = inner_of(part, axis);
  for (int i = 0; i < c.outputs(); ++i) {
    read_column(x, c.out(i, part), outer, chunk, chunk * c.outputs(), chunk * i);
  }
}

Values unpack_gradient(GradContext& g) {
  std::vector<Output> dys;
  for (int i = 0; i < g.node().outputs(); ++i) dys.push_back(g.dy(i));
  return {g.graph().add("Pack", std::span<const Output>(dys), {{"axis", g.attr<int64_t>("axis")}},
                        "stack")};
}

constexpr OpDef kUnpack = {
    .name = "Unpack",
    .doc = "The slices of the value along an axis, each as a tensor.",
    .inputs = {{"value", "T"}},
    .outputs = {{"output", "num*T"}},
    .attrs = {{"num", "int>=0"}, {"T", kAnyType}, {"axis", "int", "0"}},
    .shape = unpack_shape,
    .kernel = unpack_kernel,
    .prepare = prepare_axis,
    .gradient = unpack_gradient,
    .moves = true,
    .foretold = true,
    .samples = {"float[2,3] num=2", "float[3,2] num=2 axis=1"},
};

constexpr const OpDef* kRows[] = {&kPack, &kUnpack};

}  // namespace

OpFamily pack_ops() { return kRows; }

}  // namespace capstan
