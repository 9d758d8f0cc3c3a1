#include "build/operators.h"

#include <cmath>
#include <limits>
#include <utility>

#include "build/composites.h"

namespace capstan {
namespace {

Output unary(std::string_view op, Output x) { return x.graph().add(op, {x}); }

// Exact: it holds 64 bits.
using Limits = std::pair<long double, long double>;

template <class T>
Limits limits_of() {
  return {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
}

// The smallest and the largest number of a type.
Limits limits(DType dtype) {
  switch (dtype) {
    case DType::kFloat: return limits_of<float>();
    case DType::kDouble: return limits_of<double>();
    case DType::kInt64: return limits_of<int64_t>();
    case DType::kInt32: return limits_of<int32_t>();
    case DType::kInt16: return limits_of<int16_t>();
    case DType::kInt8: return limits_of<int8_t>();
    case DType::kUInt8: return limits_of<uint8_t>();
    case DType::kUInt16: return limits_of<uint16_t>();
    case DType::kUInt32: return limits_of<uint32_t>();
    case DType::kUInt64: return limits_of<uint64_t>();
    default: throw invalid_argument("the type {} has no limits", dtype_name(dtype));
  }
}

template <class Real>
long double inside(long double limit) {
  const auto near = static_cast<Real>(limit);
  return std::abs(static_cast<long double>(near)) > std::abs(limit) ? std::nextafter(near, Real(0))
                                                                    : near;
}

// The same limits as elements of `dtype`: a float next to 2^31 - 1 must not lie beyond it.
Limits within(DType dtype, Limits limits) {
  if (dtype == DType::kFloat) return {inside<float>(limits.first), inside<float>(limits.second)};
  if (dtype == DType::kDouble) return {inside<double>(limits.first), inside<double>(limits.second)};
  return limits;
}

// One number of a type in which it is exact.
Tensor exactly(DType dtype, long double value) {
  switch (dtype) {
    case DType::kInt64: return Tensor::scalar(static_cast<int64_t>(value));
    case DType::kUInt64: return Tensor::scalar(static_cast<uint64_t>(value));
    case DType::kUInt32: return Tensor::scalar(static_cast<uint32_t>(value));
    case DType::kUInt16: return Tensor::scalar(static_cast<uint16_t>(value));
    default: return scalar_of(dtype, static_cast<double>(value));
  }
}

}  // namespace

Output placeholder(Graph& graph, DType dtype, const Shape& shape, std::string_view name) {
  return graph.add("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, name);
}

Output operator+(Output a, Output b) { return binary("AddV2", a, b, "add"); }
Output operator-(Output a, Output b) { return binary("Sub", a, b, "sub"); }
Output operator*(Output a, Output b) { return binary("Mul", a, b, "mul"); }
Output operator/(Output a, Output b) { return binary("RealDiv", a, b, "truediv"); }
Output operator-(Output a) { return unary("Neg", a); }
Output operator+(Output a, double b) { return binary("AddV2", a, Hyper(b), "add"); }
Output operator-(Output a, double b) { return binary("Sub", a, Hyper(b), "sub"); }
Output operator*(Output a, double b) { return binary("Mul", a, Hyper(b), "mul"); }
Output operator/(Output a, double b) { return binary("RealDiv", a, Hyper(b), "truediv"); }
Output operator+(double a, Output b) { return binary("AddV2", Hyper(a), b, "add"); }
Output operator-(double a, Output b) { return binary("Sub", Hyper(a), b, "sub"); }
Output operator*(double a, Output b) { return binary("Mul", Hyper(a), b, "mul"); }
Output operator/(double a, Output b) { return binary("RealDiv", Hyper(a), b, "truediv"); }

Output matmul(Output a, Output b, bool transpose_a, bool transpose_b) {
  return a.graph().add("MatMul", {a, b},
                       {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

Output relu(Output x) { return unary("Relu", x); }
Output sigmoid(Output x) { return unary("Sigmoid", x); }
Output tanh(Output x) { return unary("Tanh", x); }
Output square(Output x) { return unary("Square", x); }
Output exp(Output x) { return unary("Exp", x); }
Output log(Output x) { return unary("Log", x); }
Output abs(Output x) { return unary("Abs", x); }
Output sqrt(Output x) { return unary("Sqrt", x); }
Output pow(Output x, const Hyper& exponent) { return binary("Pow", x, exponent); }
Output maximum(Output x, const Hyper& y) { return binary("Maximum", x, y); }
Output minimum(Output x, const Hyper& y) { return binary("Minimum", x, y); }
Output less(Output x, const Hyper& y) { return binary("Less", x, y); }
Output greater(Output x, const Hyper& y) { return binary("Greater", x, y); }
Output softmax(Output logits) { return unary("Softmax", logits); }

Output reshape(Output x, const Shape& shape) {
  Graph& g = x.graph();
  std::string full = g.unique_name("Reshape");
  Output dims = g.constant(int_vector(shape.dims()), full + "/shape/");
  return g.add("Reshape", {x, dims}, {}, full + "/");
}

Output cast(Output x, DType dtype) { return x.graph().add("Cast", {x}, {{"DstT", dtype}}); }
Output equal(Output a, Output b) { return binary("Equal", a, b); }

Output argmax(Output x, int axis) {
  Graph& g = x.graph();
  std::string full = g.unique_name("ArgMax");
  Output dimension = g.constant(Tensor::scalar<int32_t>(axis), full + "/dimension/");
  return g.add("ArgMax", {x, dimension}, {}, full + "/");
}

Output concat(std::span<const Output> values, int axis) {
  if (values.empty()) throw invalid_argument("there is nothing to join");
  Graph& g = values[0].graph();
  if (values.size() == 1) return g.add("Identity", values, {}, "concat");
  std::string full = g.unique_name("concat");
  std::vector<Output> inputs(values.begin(), values.end());
  inputs.push_back(g.constant(Tensor::scalar<int32_t>(axis), full + "/axis/"));
  return g.add("ConcatV2", inputs, {}, full + "/");
}

Output transpose(Output x, const std::vector<int64_t>& order) {
  Graph& g = x.graph();
  std::string full = g.unique_name("transpose");
  Output perm = g.constant(int_vector(order), full + "/perm/");
  return g.add("Transpose", {x, perm}, {}, full + "/");
}

Output gather(Output x, Output indices) {
  Graph& g = x.graph();
  std::string full = g.unique_name("GatherV2");
  Output axis = g.constant(Tensor::scalar<int32_t>(0), full + "/axis/");
  return g.add("GatherV2", {x, indices, axis}, {}, full + "/");
}

Output reduce_sum(Output x, const Axes& axes) { return reduce("Sum", x, axes); }
Output reduce_mean(Output x, const Axes& axes) { return reduce("Mean", x, axes); }

Output reduce_logsumexp(Output x, const Axes& axes, bool keep_dims, std::string_view name) {
  Graph& g = x.graph();
  Composite made(g, name);
  Output largest = reduce("Max", x, axes, true);
  // An infinite maximum would make the difference a NaN.
  Output finite = unary("IsFinite", largest);
  std::string full = g.unique_name("SelectV2");
  Output zero = g.constant(scalar_of(x.dtype(), 0), full + "/e/");
  Output shift = unary("StopGradient", g.add("SelectV2", {finite, largest, zero}, {}, full + "/"));
  Output sum = log(reduce("Sum", exp(binary("Sub", x, shift)), axes, keep_dims));
  if (!keep_dims) shift = g.add("Reshape", {shift, unary("Shape", sum)});
  return binary("AddV2", sum, shift, made.self);
}

Output logical_xor(Output a, Output b, std::string_view name) {
  Output either = binary("LogicalOr", a, b);
  Output not_both = unary("LogicalNot", binary("LogicalAnd", a, b));
  return binary("LogicalAnd", either, not_both, name);
}

Output saturate_cast(Output x, DType dtype, std::string_view name) {
  Graph& g = x.graph();
  Composite made(g, name);
  auto [own_least, own_most] = limits(x.dtype());
  auto [least, most] = within(x.dtype(), limits(dtype));
  if (own_least < least) x = binary("Maximum", x, g.constant(exactly(x.dtype(), least), "min"));
  if (own_most > most) x = binary("Minimum", x, g.constant(exactly(x.dtype(), most), "max"));
  return cast_to(x, dtype, made.self);
}

Output reversed_axes(Output x) {
  Graph& g = x.graph();
  Output last = rank_of(x) - 1.0;
  std::string full = g.unique_name("Range");
  Output limit = g.constant(Tensor::scalar<int32_t>(-1), full + "/limit/");
  Output delta = g.constant(Tensor::scalar<int32_t>(-1), full + "/delta/");
  return g.add("Range", {last, limit, delta}, {}, full + "/");
}

namespace {

constexpr CompositeDef kRows[] = {
    {.name = "reduce_logsumexp",
     .python = "reduce_logsumexp math.reduce_logsumexp (input_tensor, axis=None, keepdims=None, "
               "name=None, reduction_indices: for axis=None, keep_dims: for keepdims=None)",
     .doc = "log(sum(exp(x))) without large exponentials.",
     .scope = "ReduceLogSumExp",
     .constants = "input_tensor=Const",
     .build = builder<reduce_logsumexp>},
    {.name = "saturate_cast",
     .python = "saturate_cast (value, dtype, name=None)",
     .doc = "What does not fit into the type becomes its smallest or largest number.",
     .scope = "saturate_cast",
     .build = builder<saturate_cast>},
    {.name = "logical_xor", .build = builder<logical_xor>},
    {.name = "reversed_axes", .build = builder<reversed_axes>},
};

}  // namespace

CompositeFamily operator_composites() { return kRows; }

}  // namespace capstan
