// Tensors joined along an axis.

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/columns.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/reduce_axes.h"
#include "ops/types.h"

namespace capstan {
namespace {

// Where the axis and the values stand among the inputs.
struct ConcatInputs {
  int axis, first, count;
};
ConcatInputs concat_v2_inputs(int inputs) { return {inputs - 1, 0, inputs - 1}; }
ConcatInputs concat_v1_inputs(int inputs) { return {0, 1, inputs - 1}; }

Shape joined(const Node& node, const Shape& before, const Shape& next, int axis) {
  Shape out = before;
  if (out.rank() != next.rank()) {
    throw invalid_argument("{} (node '{}'): the shapes {} and {} differ in rank", node.op(),
                           node.name(), out, next);
  }
  for (int i = 0; i < out.rank(); ++i) {
    if (i == axis) {
      out[i] = out[i] < 0 || next[i] < 0 ? -1 : add_sizes(out[i], next[i]);
    } else if (out[i] < 0) {
      out[i] = next[i];
    } else if (next[i] >= 0 && next[i] != out[i]) {
      throw invalid_argument(
          "{} (node '{}'): {} and {} differ in dimension {}, which is not the axis {}", node.op(),
          node.name(), before, next, i, axis);
    }
  }
  return out;
}

void concat_shape(ShapeContext& c, ConcatInputs in) {
  Shape ranked = Shape::unknown();
  for (int i = 0; i < in.count && !ranked.known_rank(); ++i) ranked = c.in(in.first + i);
  if (!ranked.known_rank()) return c.out(0, ranked);
  const Tensor* axis_value = c.constant(in.axis);
  if (!axis_value) return c.out(0, Shape::unknown_of_rank(ranked.rank()));
  int axis = resolve_axis(c.node(), int_at(*axis_value, 0), ranked.rank());
  auto known = [&](int i) {
    const Shape& s = c.in(in.first + i);
    return s.known_rank() ? s : Shape::unknown_of_rank(ranked.rank());
  };
  Shape out = known(0);
  for (int i = 1; i < in.count; ++i) out = joined(c.node(), out, known(i), axis);
  c.out(0, out);
}

void concat_kernel(KernelContext& c, ConcatInputs in) {
  Shape shape = c.in(in.first).shape();
  int axis = resolve_axis(c.node(), int_at(c.in(in.axis), 0), shape.rank());
  for (int i = 1; i < in.count; ++i)
    shape = joined(c.node(), shape, c.in(in.first + i).shape(), axis);
  Tensor& out = c.out(0, shape);
  int64_t outer = outer_of(shape, axis), width = inner_of(shape, axis), offset = 0;
  for (int i = 0; i < in.count; ++i) {
    const Tensor& x = c.in(in.first + i);
    int64_t chunk = inner_of(x.shape(), axis);
    write_column(x, out, outer, chunk, width, offset);
    offset += chunk;
  }
}

// The shapes of the values: constants where all are known. TensorFlow asks one by one until one is
// not known, and then for all at once.
std::vector<Output> value_shapes(Graph& graph, std::span<const Output> values) {
  std::vector<Output> shapes;
  for (Output value : values) {
    shapes.push_back(shape_of(graph, value));
    if (shapes.back().node->op() == "Const") continue;
    Node& all = graph.add_node("ShapeN", values);
    shapes.clear();
    for (int i = 0; i < all.outputs(); ++i) shapes.push_back(all.output(i));
    return shapes;
  }
  return shapes;
}

// With many values, all sizes along the axis are cut out at once for one SplitV.
std::vector<Output> split_gradient(GradContext& g, Output axis, std::span<const Output> shapes) {
  Graph& graph = g.graph();
  Output stacked = graph.add("Pack", shapes, {{"axis", int64_t(1)}}, "stack");
  Output sizes;
  {
    ScopeGuard scope = graph.name_scope("Slice");
    std::string as_it_is = graph.current_scope() + "/";
    Output begin;
    {
      ScopeGuard inner = graph.name_scope("begin");
      std::string begin_name = graph.current_scope() + "/";
      Output zero = graph.constant(number(DType::kInt32, 0), "1");
      begin = graph.add("Pack", {axis, zero}, {}, begin_name);
    }
    Output size = graph.constant(ints({1, -1}), "size");
    sizes = graph.add("Slice", {stacked, begin, size}, {}, as_it_is);
  }
  sizes = g.op("Squeeze", {sizes});
  std::vector<Output> inputs = {g.dy(0), sizes, axis};
  Node& split = graph.add_node("SplitV", inputs, {{"num_split", int64_t(shapes.size())}}, "split");
  std::vector<Output> grads;
  for (int i = 0; i < split.outputs(); ++i) grads.push_back(split.output(i));
  return grads;
}

std::vector<Output> slice_gradients(GradContext& g, Output axis, std::span<const Output> shapes) {
  std::vector<Output> inputs = {axis}, grads;
  inputs.insert(inputs.end(), shapes.begin(), shapes.end());
  Node& offsets = g.graph().add_node("ConcatOffset", inputs);
  for (size_t i = 0; i < shapes.size(); ++i) {
    grads.push_back(g.op("Slice", {g.dy(0), offsets.output(int(i)), shapes[i]}));
  }
  return grads;
}

Values concat_gradient(GradContext& g, ConcatInputs in) {
  Values grads(g.node().inputs().size());
  if (in.count == 1) {
    grads[size_t(in.first)] = g.dy(0);
    return grads;
  }
  Graph& graph = g.graph();
  std::span<const Output> values(g.node().inputs().data() + in.first, size_t(in.count));
  Output axis = mod(graph, g.x(in.axis), rank_of(graph, values[0]));
  std::vector<Output> shapes = value_shapes(graph, values);
  std::vector<Output> parts =
      shapes.size() > 16 ? split_gradient(g, axis, shapes) : slice_gradients(g, axis, shapes);
  std::copy(parts.begin(), parts.end(), grads.begin() + in.first);
  return grads;
}

constexpr OpDef kConcatV2 = {
    .name = "ConcatV2",
    .doc = "The values one after another along an axis.",
    .inputs = {{"values", "N*T"}, {"axis", "Tidx", 0}},
    .outputs = {{"output", "T"}},
    .attrs = {{"N", "int>=2"}, {"T", kAnyType}, {"Tidx", kIndexTypes, "int32"}},
    .shape = [](ShapeContext& c) { concat_shape(c, concat_v2_inputs(c.inputs())); },
    .kernel = [](KernelContext& c) { concat_kernel(c, concat_v2_inputs(c.inputs())); },
    .gradient =
        [](GradContext& g) {
          return concat_gradient(g, concat_v2_inputs(int(g.node().inputs().size())));
        },
    .moves = true,
    .foretold = true,
    .samples = {"float[2,3] float[2,1] int32[]{1}", "float[2,3] float[1,3] float[2,3] int32[]{-2}",
                "string[2]{a,b} string[1]{c} int32[]{0}"},
};

constexpr OpDef kConcat = {
    .name = "Concat",
    .doc = "The values one after another along an axis.",
    .inputs = {{"concat_dim", "int32", 0}, {"values", "N*T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"N", "int>=2"}, {"T", kAnyType}},
    .shape = [](ShapeContext& c) { concat_shape(c, concat_v1_inputs(c.inputs())); },
    .kernel = [](KernelContext& c) { concat_kernel(c, concat_v1_inputs(c.inputs())); },
    .gradient =
        [](GradContext& g) {
          return concat_gradient(g, concat_v1_inputs(int(g.node().inputs().size())));
        },
    .samples = {"int32[]{1} float[2,3] float[2,1]"},
};

// The shape in input i is the first one's but along the axis.
void check_concat_shape(const KernelContext& c, int i, int axis) {
  const Tensor &first = c.in(1), &shape = c.in(i);
  bool fits = shape.size() == first.size();
  for (int d = 0; fits && d < int(first.size()); ++d)
    fits = d == axis || int_at(shape, d) == int_at(first, d);
  if (fits) return;
  throw invalid_argument("ConcatOffset (node '{}'): the shapes {} and {} differ besides axis {}",
                         c.node().name(), first.text(), shape.text(), axis);
}

void concat_offset_kernel(KernelContext& c) {
  int rank = int(c.in(1).size());
  int axis = resolve_axis(c.node(), int_at(c.in(0), 0), rank);
  int64_t offset = 0;
  for (int i = 1; i < c.inputs(); ++i) {
    check_concat_shape(c, i, axis);
    Tensor& out = c.out(i - 1, c.in(i).shape());
    for (int d = 0; d < rank; ++d) set_int(out, d, d == axis ? offset : 0);
    offset = add_sizes(offset, int_at(c.in(i), axis));
  }
}

constexpr OpDef kConcatOffset = {
    .name = "ConcatOffset",
    .doc = "Where each of several tensors begins in their concatenation.",
    .inputs = {{"concat_dim", "int32", 0}, {"shape", "N*shape_type", 1}},
    .outputs = {{"offset", "N*shape_type"}},
    .attrs = {{"N", "int>=2"}, {"shape_type", kIndexTypes, "int32"}},
    .shape =
        [](ShapeContext& c) {
          for (int i = 1; i < c.inputs(); ++i) c.out(i - 1, c.in(i));
        },
    .kernel = concat_offset_kernel,
    .no_gradient = true,
    .samples = {"int32[]{1} int32[2]{2,3} int32[2]{2,4}"},
};

constexpr const OpDef* kRows[] = {&kConcatV2, &kConcat, &kConcatOffset};

}  // namespace

OpFamily concat_ops() { return kRows; }

}  // namespace capstan
