#include "build/basics.h"

#include <algorithm>
#include <numeric>

#include "build/composite.h"

namespace capstan {
namespace {

// The name that a node will have, without a slash: `name` below the current scope, made unique; or
// the name itself where it ends in "/".
std::string name_of_node(Graph& g, std::string_view name) {
  if (name.ends_with('/')) return std::string(name.substr(0, name.size() - 1));
  return g.unique_name(name);
}

std::string_view or_op(std::string_view name, std::string_view op) {
  return name.empty() ? op : name;
}

// x[begin:end:1] of a vector, once `name` is taken; the bounds are its nodes "stack" and "stack_1".
Output strided_slice(Output x, Output begin, Output end, AttrMap masks, const std::string& name) {
  Graph& g = x.graph();
  Output strides = g.constant(int_vector({1}), name + "/stack_2/");
  return g.add("StridedSlice", {x, begin, end, strides}, std::move(masks), name + "/");
}

Output strided_slice(Output x, int64_t begin, int64_t end, AttrMap masks) {
  Graph& g = x.graph();
  std::string name = g.unique_name("strided_slice");
  Output first = g.constant(int_vector({begin}), name + "/stack/");
  Output last = g.constant(int_vector({end}), name + "/stack_1/");
  return strided_slice(x, first, last, std::move(masks), name);
}

AttrMap one_item() { return {{"shrink_axis_mask", int64_t(1)}}; }

}  // namespace

Tensor filled(DType dtype, const Shape& shape, double value) {
  Tensor t(dtype, shape);
  auto put = [&]<class T>(T v) { std::fill_n(t.data<T>(), t.size(), v); };
  switch (dtype) {
    case DType::kFloat: put(float(value)); break;
    case DType::kDouble: put(value); break;
    case DType::kInt32: put(int32_t(value)); break;
    case DType::kInt64: put(int64_t(value)); break;
    case DType::kBool: put(value != 0); break;
    case DType::kUInt8: put(uint8_t(value)); break;
    case DType::kInt16: put(int16_t(value)); break;
    case DType::kInt8: put(int8_t(value)); break;
    case DType::kString:
      if (value != 0) throw invalid_argument("a string tensor cannot be filled with {}", value);
      break;
    default: throw invalid_argument("cannot fill a tensor of type {}", dtype_name(dtype));
  }
  return t;
}

Tensor scalar_of(DType dtype, double value) { return filled(dtype, {}, value); }

Tensor int_vector(std::span<const int64_t> values) {
  auto is_large = [](int64_t v) { return v != int32_t(v); };
  if (std::ranges::any_of(values, is_large))
    return Tensor::of<int64_t>({int64_t(values.size())}, values);
  Tensor t(DType::kInt32, {int64_t(values.size())});
  std::ranges::transform(values, t.data<int32_t>(), [](int64_t v) { return int32_t(v); });
  return t;
}

Tensor int_vector(std::initializer_list<int64_t> values) {
  return int_vector(std::span(values.begin(), values.size()));
}

Output as_tensor(Graph& graph, const Hyper& value, DType dtype, std::string_view name) {
  if (auto* tensor = std::get_if<Output>(&value)) return *tensor;
  return graph.constant(scalar_of(dtype, std::get<double>(value)), name);
}

Output cast_to(Output x, DType dtype, std::string_view name) {
  return x.dtype() == dtype ? x : x.graph().add("Cast", {x}, {{"DstT", dtype}}, name);
}

Output binary(std::string_view op, Output x, Output y, std::string_view name) {
  return x.graph().add(op, {x, y}, {}, name);
}

Output binary(std::string_view op, Output x, const Hyper& y, std::string_view name) {
  if (auto* tensor = std::get_if<Output>(&y)) return binary(op, x, *tensor, name);
  Graph& g = x.graph();
  std::string full = name_of_node(g, or_op(name, op));
  return binary(op, x, as_tensor(g, y, x.dtype(), full + "/y/"), full + "/");
}

Output binary(std::string_view op, const Hyper& x, Output y, std::string_view name) {
  if (auto* tensor = std::get_if<Output>(&x)) return binary(op, *tensor, y, name);
  Graph& g = y.graph();
  std::string full = name_of_node(g, or_op(name, op));
  return binary(op, as_tensor(g, x, y.dtype(), full + "/x/"), y, full + "/");
}

Output shape_of(Output x, std::string_view name, DType dtype) {
  Graph& g = x.graph();
  if (dtype != DType::kInt32 && dtype != DType::kInt64)
    throw invalid_argument("a shape is of type int32 or int64, not {}", dtype_name(dtype));
  if (!x.shape().fully_defined()) return g.add("Shape", {x}, {{"out_type", dtype}}, name);
  std::span dims = x.shape().dims();
  if (dtype == DType::kInt32) return g.constant(int_vector(dims), name);
  return g.constant(Tensor::of<int64_t>({int64_t(dims.size())}, dims), name);
}

Output rank_of(Output x, std::string_view name) {
  Graph& g = x.graph();
  if (!x.shape().known_rank()) return g.add("Rank", {x}, {}, name);
  return g.constant(Tensor::scalar<int32_t>(x.shape().rank()), name);
}

Output size_of(Output x, std::string_view name, DType dtype) {
  Graph& g = x.graph();
  const Shape& shape = x.shape();
  if (!shape.fully_defined()) return g.add("Size", {x}, {{"out_type", dtype}}, name);
  if (dtype != DType::kInt64 && shape.elements() > INT32_MAX) {
    throw invalid_argument("the size of '{}', {}, is no {}: ask for int64", x.name(),
                           shape.elements(), dtype_name(dtype));
  }
  return g.constant(scalar_of(dtype, double(x.shape().elements())), name);
}

Output range_between(Graph& g, const Hyper& start, const Hyper& limit, std::string_view name) {
  std::string full = name_of_node(g, name);
  Output first = as_tensor(g, start, DType::kInt32, full + "/start/");
  Output end = as_tensor(g, limit, DType::kInt32, full + "/limit/");
  Output delta = g.constant(Tensor::scalar<int32_t>(1), full + "/delta/");
  return g.add("Range", {first, end, delta}, {}, full + "/");
}

Output slice_of(Output vector, std::optional<int64_t> begin, std::optional<int64_t> end) {
  AttrMap masks = {{"begin_mask", int64_t(begin ? 0 : 1)}, {"end_mask", int64_t(end ? 0 : 1)}};
  return strided_slice(vector, begin.value_or(0), end.value_or(0), std::move(masks));
}

Output item_of(Output vector, int64_t position) {
  return strided_slice(vector, position, position + 1, one_item());
}

Output item_of(Output vector, Output position) {
  Graph& g = vector.graph();
  Output next = binary("AddV2", position, 1.0, "add");
  std::string name = g.unique_name("strided_slice");
  Output first = g.add("Pack", {position}, {{"axis", int64_t(0)}}, name + "/stack/");
  Output last = g.add("Pack", {next}, {{"axis", int64_t(0)}}, name + "/stack_1/");
  return strided_slice(vector, first, last, one_item(), name);
}

Output filled_with(Graph& graph, const Shape& shape, DType dtype, double value,
                   std::string_view name) {
  constexpr int64_t kSmall = 1000;
  if (shape.elements() < kSmall) return graph.constant(filled(dtype, shape, value), name);
  Composite made(graph, name);
  Output dims = graph.constant(int_vector(shape.dims()), "shape_as_tensor");
  Output element = graph.constant(scalar_of(dtype, value));
  return graph.add("Fill", {dims, element}, {}, made.self);
}

Output filled_with(Output shape, DType dtype, double value, std::string_view name) {
  Graph& g = shape.graph();
  Composite made(g, name);
  if (shape.shape().known_rank() && shape.shape().rank() == 0) {
    std::string reshaped = g.unique_name("Reshape");
    Output flat = g.constant(int_vector({-1}), reshaped + "/shape/");
    shape = g.add("Reshape", {shape, flat}, {}, reshaped + "/");
  }
  return g.add("Fill", {shape, g.constant(scalar_of(dtype, value))}, {}, made.self);
}

Output zeros(Graph& graph, const Shape& shape, DType dtype, std::string_view name) {
  return filled_with(graph, shape, dtype, 0, name);
}

Output ones(Graph& graph, const Shape& shape, DType dtype, std::string_view name) {
  return filled_with(graph, shape, dtype, 1, name);
}

Output zeros_like(Output x, DType dtype, std::string_view name) {
  Graph& g = x.graph();
  if (dtype == DType::kInvalid) dtype = x.dtype();
  if (x.shape().fully_defined()) return zeros(g, x.shape(), dtype, name);
  if (dtype == x.dtype()) return g.add("ZerosLike", {x}, {}, name);
  Composite made(g, name);
  return filled_with(shape_of(x), dtype, 0, made.self);
}

Output ones_like(Output x, DType dtype, std::string_view name) {
  Composite made(x.graph(), name);
  Output shape = shape_of(x, x.shape().fully_defined() ? "Shape/shape_as_tensor" : "Shape");
  return filled_with(shape, dtype == DType::kInvalid ? x.dtype() : dtype, 1, made.self);
}

Output fill(Graph& graph, const Shape& dims, Output value, std::string_view name) {
  std::string full = graph.unique_name(name);
  Output shape = graph.constant(int_vector(dims.dims()), full + "/dims/");
  return graph.add("Fill", {shape, value}, {}, full + "/");
}

namespace {

// All axes of x. A scalar's are found out like those of an unknown rank: as TensorFlow does it.
Output all_axes(Output x) {
  if (!x.shape().known_rank() || x.shape().rank() == 0)
    return range_between(x.graph(), 0.0, rank_of(x));
  std::vector<int64_t> axes(size_t(x.shape().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return x.graph().constant(int_vector(axes));
}

}  // namespace

Output reduce(std::string_view op, Output x, const Axes& axes, bool keep_dims,
              std::string_view name) {
  Graph& g = x.graph();
  if (!axes) {
    Output all = all_axes(x);
    Output reduced = g.add(op, {x, all}, {{"keep_dims", keep_dims}}, name);
    if (!keep_dims) g.set_shape(reduced, {});  // which cannot be inferred from an unknown rank
    return reduced;
  }
  std::string full = name_of_node(g, or_op(name, op));
  Output indices = g.constant(int_vector(*axes), full + "/reduction_indices/");
  return g.add(op, {x, indices}, {{"keep_dims", keep_dims}}, full + "/");
}

namespace {

void check_mask(const Shape& shape, const Shape& mask, int axis) {
  if (!shape.known_rank()) return;
  bool fits = axis >= 0 && axis + mask.rank() <= shape.rank();
  for (int i = 0; fits && i < mask.rank(); ++i) {
    int64_t m = mask[i], s = shape[axis + i];
    fits = m < 0 || s < 0 || m == s;
  }
  if (fits) return;
  throw invalid_argument(
      "a mask of shape {} does not cover the axes from {} on of a tensor of shape {}", mask, axis,
      shape);
}

}  // namespace

Output boolean_mask(Output x, Output mask, int axis, std::string_view name) {
  Graph& g = x.graph();
  if (!mask.shape().known_rank() || mask.shape().rank() == 0) {
    throw invalid_argument("the mask '{}' has no known axes: a mask needs at least one",
                           mask.name());
  }
  const int end = axis + mask.shape().rank();
  check_mask(x.shape(), mask.shape(), axis);
  Composite made(g, name);
  Output covered = reduce("Prod", slice_of(shape_of(x), axis, end), {{0}});
  Output before = slice_of(shape_of(x), std::nullopt, axis);
  Output after = slice_of(shape_of(x), end, std::nullopt);
  Output packed = g.add("Pack", {covered}, {{"axis", int64_t(0)}}, "concat/values_1");
  Output along = g.constant(Tensor::scalar<int32_t>(0), "concat/axis");
  Output flat_shape = g.add("ConcatV2", {before, packed, after, along}, {}, "concat");
  Output flat = g.add("Reshape", {x, flat_shape}, {}, "Reshape");
  Output any = g.constant(int_vector({-1}), "Reshape_1/shape");
  Output flat_mask = g.add("Reshape", {mask, any}, {}, "Reshape_1");
  Output where = g.add("Where", {flat_mask});
  Output indices = g.add("Squeeze", {where}, {{"squeeze_dims", std::vector<int64_t>{1}}});
  Output at = g.constant(Tensor::scalar<int32_t>(axis), "GatherV2/axis");
  return g.add("GatherV2", {flat, indices, at});
}

Output report_uninitialized(Graph& g, std::span<const Output> references, std::string_view name) {
  auto scope = g.name_scope(name);
  std::vector<Output> flags;
  for (const Output& ref : references) {
    auto with = g.colocate_with(ref.node);
    flags.push_back(g.add("IsVariableInitialized", {ref}, {{"dtype", ref.dtype()}}));
  }
  auto device = g.device("/cpu:0");
  if (flags.empty()) return g.constant(Tensor(DType::kString, {0}), "Const");
  Output stacked = g.add("Pack", flags, {{"axis", int64_t(0)}}, "stack");
  Output mask = g.add("LogicalNot", {stacked});
  Tensor names(DType::kString, {int64_t(flags.size())});
  for (size_t i = 0; i < flags.size(); ++i)
    names.data<std::string>()[i] = references[i].node->name();
  return boolean_mask(g.constant(std::move(names)), mask);
}

namespace {

using WithShape = Output (*)(Graph&, const Shape&, DType, double, std::string_view);
using WithTensor = Output (*)(Output, DType, double, std::string_view);

constexpr CompositeDef kRows[] = {
    {.name = "filled_with", .build = builder<static_cast<WithShape>(filled_with)>},
    {.name = "filled_with_tensor", .build = builder<static_cast<WithTensor>(filled_with)>},
    {.name = "shape_of", .build = builder<shape_of>},
    {.name = "rank_of", .build = builder<rank_of>},
    {.name = "size_of", .build = builder<size_of>},
    {.name = "zeros_like", .build = builder<zeros_like>},
    {.name = "ones_like", .build = builder<ones_like>},
    {.name = "reduce", .build = builder<reduce>},
    {.name = "boolean_mask", .build = builder<boolean_mask>},
};

}  // namespace

CompositeFamily basic_composites() { return kRows; }

}  // namespace capstan
