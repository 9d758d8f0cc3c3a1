#include "ops/grad_nodes.h"

#include <algorithm>

#include "graph/shape_context.h"

namespace capstan {
namespace {

bool has_literal(std::span<const Arg> args) {
  return std::any_of(args.begin(), args.end(), [](const Arg& a) { return a.literal.valid(); });
}

Output value_of(Graph& g, const Arg& arg, std::string_view name) {
  return arg.literal.valid() ? g.constant(arg.literal, name) : arg.value;
}

// What operators do: both sides inside the operator's scope, under the names x and y.
Output binary(Graph& g, std::string_view op, std::string_view name, Arg x, Arg y) {
  return node(g, op, {std::move(x), std::move(y)}, {}, name);
}

// An op whose literals stand in a scope of their own, entered when there are any.
template <class Inputs>
Output scoped(Graph& g, std::string_view op, std::string_view name, AttrMap attrs, Inputs inputs) {
  ScopeGuard scope = g.name_scope(name.empty() ? op : name);
  std::string as_it_is = g.current_scope() + "/";
  return g.add(op, std::span<const Output>(inputs()), std::move(attrs), as_it_is);
}

// Axes that were stretched for x and for y, where the static shapes tell; nothing otherwise.
struct ReductionAxes {
  std::vector<int64_t> x, y;
  bool known = false;
};

ReductionAxes infer_axes(const Shape& x, const Shape& y) {
  if (!x.known_rank() || !y.known_rank()) return {};
  int rank = std::max(x.rank(), y.rank());
  auto dim = [rank](const Shape& s, int axis) {
    int i = axis - (rank - s.rank());
    return i < 0 ? int64_t(1) : s[i];
  };
  ReductionAxes axes;
  for (int axis = 0; axis < rank; ++axis) {
    int64_t xd = dim(x, axis), yd = dim(y, axis);
    if (xd == 1 && yd != 1) {
      axes.x.push_back(axis);
    } else if (yd == 1 && xd != 1) {
      axes.y.push_back(axis);
    } else if (xd < 0 || yd < 0) {
      return {};
    }
  }
  axes.known = true;
  return axes;
}

Output sum_to(Graph& g, Output grad, Arg axes, Output shape) {
  return reshape(g, reduce_sum(g, grad, std::move(axes), true), shape);
}

}  // namespace

Tensor number(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat: return Tensor::scalar(float(value));
    case DType::kDouble: return Tensor::scalar(value);
    case DType::kInt32: return Tensor::scalar(int32_t(value));
    case DType::kInt64: return Tensor::scalar(int64_t(value));
    case DType::kUInt8: return Tensor::scalar(uint8_t(value));
    case DType::kInt16: return Tensor::scalar(int16_t(value));
    case DType::kInt8: return Tensor::scalar(int8_t(value));
    case DType::kUInt16: return Tensor::scalar(uint16_t(value));
    case DType::kUInt32: return Tensor::scalar(uint32_t(value));
    case DType::kUInt64: return Tensor::scalar(uint64_t(value));
    default:
      throw invalid_argument("a gradient needs the number {} as {}", value, dtype_name(dtype));
  }
}

Tensor ints(std::span<const int64_t> values, DType dtype) {
  Tensor t(dtype, Shape{int64_t(values.size())});
  if (dtype == DType::kInt64) {
    std::copy(values.begin(), values.end(), t.data<int64_t>());
  } else {
    std::transform(values.begin(), values.end(), t.data<int32_t>(),
                   [](int64_t v) { return int32_t(v); });
  }
  return t;
}

std::vector<int64_t> as_ints(const Tensor& t) {
  if (t.dtype() == DType::kInt64) return {t.data<int64_t>(), t.data<int64_t>() + t.size()};
  return {t.data<int32_t>(), t.data<int32_t>() + t.size()};
}

Output node(Graph& g, std::string_view op, std::initializer_list<Arg> args, AttrMap attrs,
            std::string_view name) {
  std::span<const Arg> list(args.begin(), args.size());
  std::vector<Output> inputs;
  if (!has_literal(list)) {
    for (const Arg& a : list) inputs.push_back(a.value);
    return g.add(op, std::span<const Output>(inputs), std::move(attrs), name);
  }
  return scoped(g, op, name, std::move(attrs), [&] {
    const OpDef& def = g.catalog().get(op);
    for (size_t i = 0; i < list.size(); ++i) {
      inputs.push_back(value_of(g, list[i], def.inputs[i].name));
    }
    return inputs;
  });
}

Output list_node(Graph& g, std::string_view op, std::span<const Arg> list,
                 std::initializer_list<Arg> rest, AttrMap attrs, std::string_view name) {
  return scoped(g, op, name, std::move(attrs), [&] {
    const OpDef& def = g.catalog().get(op);
    std::vector<Output> inputs;
    for (size_t i = 0; i < list.size(); ++i) {
      inputs.push_back(value_of(g, list[i], fmt::format("{}_{}", def.inputs[0].name, i)));
    }
    size_t i = 0;
    for (const Arg& a : rest) inputs.push_back(value_of(g, a, def.inputs[++i].name));
    return inputs;
  });
}

Output mul(Graph& g, Arg x, Arg y) { return binary(g, "Mul", "mul", std::move(x), std::move(y)); }
Output add(Graph& g, Arg x, Arg y) { return binary(g, "AddV2", "add", std::move(x), std::move(y)); }
Output sub(Graph& g, Arg x, Arg y) { return binary(g, "Sub", "sub", std::move(x), std::move(y)); }
Output truediv(Graph& g, Arg x, Arg y) {
  return binary(g, "RealDiv", "truediv", std::move(x), std::move(y));
}
Output mod(Graph& g, Arg x, Arg y) {
  return binary(g, "FloorMod", "mod", std::move(x), std::move(y));
}

Output shape_of(Graph& g, Output x, DType out_type) {
  if (x.shape().fully_defined()) return g.constant(ints(x.shape(), out_type), "Shape");
  return g.add("Shape", {x}, {{"out_type", out_type}});
}

Output size_of(Graph& g, Output x) {
  if (!x.shape().fully_defined()) return g.add("Size", {x});
  return g.constant(number(DType::kInt32, double(x.shape().elements())), "Size");
}

Output rank_of(Graph& g, Output x) {
  if (!x.shape().known_rank()) return g.add("Rank", {x});
  return g.constant(number(DType::kInt32, x.shape().rank()), "Rank");
}

Output zeros_like(Graph& g, Output x) {
  if (!x.shape().fully_defined()) return g.add("ZerosLike", {x}, {}, "zeros_like");
  Tensor zeros(x.dtype(), x.shape());
  std::memset(zeros.raw(), 0, zeros.bytes());
  return g.constant(std::move(zeros), "zeros_like");
}

Output ones_like(Graph& g, Output x) {
  ScopeGuard scope = g.name_scope("ones_like");
  std::string as_it_is = g.current_scope() + "/";
  Output shape = x.shape().fully_defined() ? g.constant(ints(x.shape()), "Shape/shape_as_tensor")
                                           : g.add("Shape", {x});
  Output one = g.constant(number(x.dtype(), 1));
  return g.add("Fill", {shape, one}, {}, as_it_is);
}

Output reshape(Graph& g, Output x, Arg shape) { return node(g, "Reshape", {x, std::move(shape)}); }

Output cast(Graph& g, Output x, DType to) {
  return x.dtype() == to ? x : g.add("Cast", {x}, {{"DstT", to}});
}

Output reduce_sum(Graph& g, Output x, Arg axes, bool keep_dims) {
  return node(g, "Sum", {x, std::move(axes)}, {{"keep_dims", keep_dims}});
}

namespace {
Output all_axes(Graph& g, Output x) {
  if (!x.shape().known_rank()) return range(g, rank_of(g, x));
  std::vector<int64_t> axes;
  for (int i = 0; i < x.shape().rank(); ++i) axes.push_back(i);
  return g.constant(ints(axes));
}
}  // namespace

Output reduce_sum(Graph& g, Output x) { return reduce_sum(g, x, all_axes(g, x)); }
Output reduce_prod(Graph& g, Output x) { return g.add("Prod", {x, all_axes(g, x)}); }

Output gather(Graph& g, Output params, Arg indices) {
  return node(g, "GatherV2", {params, std::move(indices), number(DType::kInt32, 0)});
}

Output concat(Graph& g, std::span<const Arg> values, Arg axis) {
  return list_node(g, "ConcatV2", values, {std::move(axis)}, {}, "concat");
}

Output stack(Graph& g, std::initializer_list<Arg> values) {
  return scoped(g, "Pack", "stack", {}, [&] {
    std::vector<Output> inputs;
    for (const Arg& v : values) inputs.push_back(value_of(g, v, std::to_string(inputs.size())));
    return inputs;
  });
}

Output range(Graph& g, Output limit, int64_t delta) {
  return node(g, "Range", {number(DType::kInt32, 0), limit, number(DType::kInt32, double(delta))},
              {}, "range");
}

Output expand_dims(Graph& g, Output x, int64_t dim) {
  return node(g, "ExpandDims", {x, number(DType::kInt32, double(dim))});
}

Output broadcast_to(Graph& g, Output x, Output shape) { return g.add("BroadcastTo", {x, shape}); }

Output slice_vector(Graph& g, Output x, std::optional<int64_t> begin, std::optional<int64_t> end) {
  AttrMap attrs = {{"begin_mask", int64_t(!begin)}, {"end_mask", int64_t(!end)}};
  return scoped(g, "StridedSlice", "strided_slice", std::move(attrs), [&] {
    return std::vector<Output>{x, g.constant(ints({begin.value_or(0)}), "stack"),
                               g.constant(ints({end.value_or(0)}), "stack_1"),
                               g.constant(ints({1}), "stack_2")};
  });
}

Shape kept_shape(const Shape& shape, std::span<const int64_t> axes) {
  Shape kept = shape;
  for (int64_t axis : axes) kept[int(axis < 0 ? axis + shape.rank() : axis)] = 1;
  return kept;
}

Arg reduced_shape(Graph& g, Output shape, Output axes) {
  std::optional<Tensor> known_shape = constant_value(shape), known_axes = constant_value(axes);
  if (known_shape && known_axes) {
    return ints(kept_shape(Shape(as_ints(*known_shape)), as_ints(*known_axes)));
  }
  shape = cast(g, shape, DType::kInt32);
  axes = cast(g, axes, DType::kInt32);
  Output rank = size_of(g, shape);
  axes = mod(g, add(g, axes, rank), rank);
  Output axes_shape = shape_of(g, axes);
  Output all = range(g, rank);
  // array_ops.ones(axes_shape).
  Output ones;
  {
    ScopeGuard scope = g.name_scope("ones");
    std::string as_it_is = g.current_scope() + "/";
    Output one = g.constant(number(DType::kInt32, 1));
    ones = g.add("Fill", {axes_shape, one}, {}, as_it_is);
  }
  return g.add("DynamicStitch", {all, axes, shape, ones});
}

std::pair<Output, Output> reduce_to_inputs(Graph& g, Output x, Output y, Output gx, Output gy) {
  Output x_shape = shape_of(g, x), y_shape = shape_of(g, y);
  ReductionAxes axes = infer_axes(x.shape(), y.shape());
  if (!axes.known) {
    std::vector<Output> shapes = {x_shape, y_shape};
    Node& args = g.add_node("BroadcastGradientArgs", shapes);
    if (gx) gx = sum_to(g, gx, args.output(0), x_shape);
    if (gy) gy = sum_to(g, gy, args.output(1), y_shape);
    return {gx, gy};
  }
  bool reduce_x = !axes.x.empty() || x.shape().rank() < y.shape().rank();
  bool reduce_y = !axes.y.empty() || y.shape().rank() < x.shape().rank();
  if (gx && reduce_x) gx = sum_to(g, gx, ints(axes.x), x_shape);
  if (gy && reduce_y) gy = sum_to(g, gy, ints(axes.y), y_shape);
  return {gx, gy};
}

bool same_known_shapes(Output x, Output y, Output dy) {
  return x.shape().fully_defined() && x.shape() == y.shape() && x.shape() == dy.shape();
}

bool is_zeros(Output dy) { return !dy || dy.node->op() == "ZerosLike"; }

}  // namespace capstan
