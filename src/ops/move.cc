// Ops that put whole tensors together, take them apart, repeat or transpose them.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/reduce_axes.h"
#include "ops/types.h"
#include "ops/window.h"

namespace capstan {
namespace {

char* at(Tensor& t, int64_t element) {
  return static_cast<char*>(t.raw()) + size_t(element) * dtype_size(t.dtype());
}
const char* at(const Tensor& t, int64_t element) {
  return static_cast<const char*>(t.raw()) + size_t(element) * dtype_size(t.dtype());
}

// Elements before, and from, an axis on.
int64_t outer_of(const Shape& s, int axis) {
  int64_t n = 1;
  for (int i = 0; i < axis; ++i) n *= s[i];
  return n;
}
int64_t inner_of(const Shape& s, int axis) {
  int64_t n = 1;
  for (int i = axis; i < s.rank(); ++i) n *= s[i];
  return n;
}

// Copies [outer, chunk] into column `offset` of a tensor whose rows have `width` elements, or back.
void write_column(const Tensor& from, Tensor& to, int64_t outer, int64_t chunk, int64_t width,
                  int64_t offset) {
  for (int64_t o = 0; o < outer; ++o) {
    copy_elements(to.dtype(), at(to, o * width + offset), at(from, o * chunk), chunk);
  }
}
void read_column(const Tensor& from, Tensor& to, int64_t outer, int64_t chunk, int64_t width,
                 int64_t offset) {
  for (int64_t o = 0; o < outer; ++o) {
    copy_elements(to.dtype(), at(to, o * chunk), at(from, o * width + offset), chunk);
  }
}

// --- ConcatV2, Concat, ConcatOffset --------------------------------------------------------------

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

// --- Split and SplitV ----------------------------------------------------------------------------

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

// --- Pack and Unpack -----------------------------------------------------------------------------

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
    .samples = {"float[2,3] num=2", "float[3,2] num=2 axis=1"},
};

// --- Tile ----------------------------------------------------------------------------------------

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

// --- Transpose -----------------------------------------------------------------------------------

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

// --- ReverseV2 -----------------------------------------------------------------------------------

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

constexpr const OpDef* kRows[] = {&kReverseV2, &kConcatV2, &kConcat, &kConcatOffset, &kSplit,
                                  &kSplitV,    &kPack,     &kUnpack, &kTile,         &kTranspose};

}  // namespace

OpFamily move_ops() { return kRows; }

}  // namespace capstan
