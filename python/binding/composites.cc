// The engine's composites, called from Python: `def(m, "dropout", &dropout)`. Arguments are
// converted by their C++ types; the graph is that of the first tensor among them.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "build.h"
#include "build/clip.h"
#include "build/losses.h"
#include "build/moving_average.h"
#include "build/nn.h"
#include "build/operators.h"
#include "build/rates.h"
#include "convert.h"
#include "handles.h"

namespace capstan {

Hyper hyper_of(nb::handle value) {
  if (nb::isinstance<TensorHandle>(value)) return output_of(value);
  return nb::cast<double>(value);
}

namespace {

// What Python passes for a parameter, and what the engine makes of it.
template <class T>
struct Parameter {
  using Python = T;
  static T take(T value) { return value; }
};

template <class T, T (*convert)(nb::handle)>
struct Converted {
  using Python = nb::handle;
  static T take(nb::handle value) { return convert(value); }
};

Output output_or_none(nb::handle value) { return value.is_none() ? Output{} : output_of(value); }

std::vector<Output> outputs_or_none(nb::handle values) {
  std::vector<Output> outputs;
  for (nb::handle value : nb::iter(values)) outputs.push_back(output_or_none(value));
  return outputs;
}

ShapeArgument shape_argument(nb::handle value) {
  if (value.is_none()) return {};
  if (nb::isinstance<TensorHandle>(value)) return output_of(value);
  return shape_from_python(value);
}

Reduction reduction_from_python(nb::handle value) { return Reduction(nb::cast<int>(value)); }

template <>
struct Parameter<Output> : Converted<Output, output_or_none> {};
template <>
struct Parameter<std::span<const Output>> : Converted<std::vector<Output>, outputs_or_none> {};
template <>
struct Parameter<Hyper> : Converted<Hyper, hyper_of> {};
template <>
struct Parameter<ShapeArgument> : Converted<ShapeArgument, shape_argument> {};
template <>
struct Parameter<Shape> : Converted<Shape, shape_from_python> {};
template <>
struct Parameter<DType> : Converted<DType, dtype_from_python> {};
template <>
struct Parameter<Reduction> : Converted<Reduction, reduction_from_python> {};
template <>
struct Parameter<VariableRef> : Converted<VariableRef, variable_of> {};
template <>
struct Parameter<Graph> {
  using Python = nb::handle;
  static Graph& take(nb::handle graph) { return graph_handle(graph).graph; }
};

// The graph of an argument, where it has one.
nb::handle graph_of(nb::handle value) {
  if (nb::isinstance<GraphHandle>(value)) return value;
  if (nb::isinstance<TensorHandle>(value)) {
    nb::handle operation = nb::inst_ptr<TensorHandle>(value)->operation;
    return nb::inst_ptr<OperationHandle>(operation)->graph;
  }
  if (nb::hasattr(value, "_variable")) return graph_of(value.attr("_variable"));
  if (!nb::isinstance<nb::list>(value)) return {};
  for (nb::handle item : nb::iter(value)) {
    if (nb::handle graph = graph_of(item)) return graph;
  }
  return {};
}

template <class T>
nb::handle graph_of(const T&) {
  return {};
}

nb::object to_python(nb::handle graph, Output made) { return tensor_object(graph, made); }
nb::object to_python(nb::handle graph, Node& made) { return operation_object(graph, made); }
nb::object to_python(nb::handle graph, const std::vector<Output>& made) {
  nb::list list;
  for (const Output& output : made) list.append(tensor_or_none(graph, output));
  return list;
}

template <class>
auto may_be_none() {
  return nb::arg().none();
}

template <class Result, class... Args>
void def(nb::module_& m, const char* name, Result (*make)(Args...)) {
  auto call = [make](typename Parameter<std::remove_cvref_t<Args>>::Python... args) {
    nb::handle graph;
    (void)((graph = graph_of(args)) || ...);
    return to_python(graph, make(Parameter<std::remove_cvref_t<Args>>::take(args)...));
  };
  m.def(name, call, may_be_none<Args>()...);
}

nb::object make_variance_scaling(nb::handle graph, nb::handle shape, nb::handle dtype, double scale,
                                 std::string_view mode, std::string_view distribution, Seed seed,
                                 nb::handle whole) {
  VarianceScaling how{scale, std::string(mode), std::string(distribution)};
  Shape layer = shape_from_python(whole);
  return tensor_object(graph, variance_scaling(graph_handle(graph).graph, shape_from_python(shape),
                                               dtype_from_python(dtype), how, seed, &layer));
}

void bind_basics(nb::module_& m) {
  using WithShape = Output (*)(Graph&, const Shape&, DType, double, std::string_view);
  using WithTensor = Output (*)(Output, DType, double, std::string_view);
  def(m, "filled_with", static_cast<WithShape>(filled_with));
  def(m, "filled_with_tensor", static_cast<WithTensor>(filled_with));
  def(m, "shape_of", &shape_of);
  def(m, "rank_of", &rank_of);
  def(m, "size_of", &size_of);
  def(m, "zeros_like", &zeros_like);
  def(m, "ones_like", &ones_like);
  def(m, "reduce", &reduce);
  def(m, "boolean_mask", &boolean_mask);
  def(m, "reduce_logsumexp", &reduce_logsumexp);
  def(m, "logical_xor", &logical_xor);
  def(m, "saturate_cast", &saturate_cast);
  def(m, "reversed_axes", &reversed_axes);
}

void bind_random(nb::module_& m) {
  using Normal = Output (*)(Output, Output, Output, Seed, std::string_view);
  using Uniform = Output (*)(Output, Output, Output, DType, Seed, std::string_view);
  def(m, "random_normal", static_cast<Normal>(random_normal));
  def(m, "truncated_normal", static_cast<Normal>(truncated_normal));
  def(m, "random_uniform", static_cast<Uniform>(random_uniform));
  m.def("variance_scaling", &make_variance_scaling, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
}

void bind_nn(nb::module_& m) {
  def(m, "softmax_cross_entropy", &softmax_cross_entropy);
  def(m, "sparse_softmax_cross_entropy", &sparse_softmax_cross_entropy);
  def(m, "sigmoid_cross_entropy", &sigmoid_cross_entropy);
  def(m, "weighted_cross_entropy", &weighted_cross_entropy);
  def(m, "xw_plus_b", &xw_plus_b);
  def(m, "relu_layer", &relu_layer);
  def(m, "l2_normalize", &l2_normalize);
  def(m, "softmax_along", &softmax_along);
  def(m, "dropout", &dropout);
  def(m, "zero_fraction", &zero_fraction);
}

void bind_losses(nb::module_& m) {
  def(m, "weighted_loss", &weighted_loss);
  def(m, "mean_squared_error", &mean_squared_error);
  def(m, "absolute_difference", &absolute_difference);
  def(m, "log_loss", &log_loss);
  def(m, "softmax_cross_entropy_loss", &softmax_cross_entropy_loss);
  def(m, "sparse_softmax_cross_entropy_loss", &sparse_softmax_cross_entropy_loss);
  def(m, "sigmoid_cross_entropy_loss", &sigmoid_cross_entropy_loss);
}

void bind_training(nb::module_& m) {
  def(m, "clip_by_value", &clip_by_value);
  def(m, "clip_by_norm", &clip_by_norm);
  def(m, "global_norm", &global_norm);
  def(m, "clip_by_global_norm", &clip_by_global_norm);
  def(m, "exponential_decay", &exponential_decay);
  def(m, "inverse_time_decay", &inverse_time_decay);
  def(m, "polynomial_decay", &polynomial_decay);
  def(m, "cosine_decay", &cosine_decay);
  def(m, "piecewise_constant", &piecewise_constant);
  def(m, "early_decay", &early_decay);
  def(m, "update_moving_average", &update_moving_average);
}

}  // namespace

void bind_composites(nb::module_& m) {
  bind_basics(m);
  bind_random(m);
  bind_nn(m);
  bind_losses(m);
  bind_training(m);
}

}  // namespace capstan
