#include "build/operators.h"

#include "build/basics.h"

namespace capstan {
namespace {

Output binary(std::string_view op, std::string_view name, Output a, Output b) {
  return a.graph().add(op, {a, b}, {}, name);
}

Output with_number(std::string_view op, std::string_view name, Output a, float b) {
  Graph& g = a.graph();
  std::string full = g.unique_name(name);
  Output y = g.constant(scalar_of(a.dtype(), b), full + "/y/");
  return g.add(op, {a, y}, {}, full + "/");
}

Output unary(std::string_view op, Output x) { return x.graph().add(op, {x}); }

Tensor int_vector(const std::vector<int>& values) {
  Tensor t(DType::kInt32, {int64_t(values.size())});
  std::copy(values.begin(), values.end(), t.data<int32_t>());
  return t;
}

Tensor dims_vector(const Shape& shape) {
  std::vector<int> dims;
  for (int64_t d : shape.dims()) dims.push_back(int(d));
  return int_vector(dims);
}

Output reduce(std::string_view op, Output x, std::vector<int> axes) {
  if (axes.empty()) {
    if (!x.shape().known_rank())
      throw invalid_argument("'{}' has an unknown rank: name the axes to reduce", x.name());
    for (int i = 0; i < x.shape().rank(); ++i) axes.push_back(i);
  }
  Graph& g = x.graph();
  Output indices = g.constant(int_vector(axes));
  return g.add(op, {x, indices}, {{"keep_dims", false}});
}

Output scaled_random(Graph& g, std::string_view op, std::string_view name, const Shape& shape,
                     float stddev, float mean) {
  auto scope = g.name_scope(name);
  std::string full = g.current_scope() + "/";
  Output dims = g.constant(dims_vector(shape), "shape");
  Output mu = g.constant(Tensor::scalar(mean), "mean");
  Output sigma = g.constant(Tensor::scalar(stddev), "stddev");
  auto [seed, seed2] = g.random_seeds(std::nullopt);
  Output raw = g.add(op, {dims}, {{"dtype", DType::kFloat}, {"seed", seed}, {"seed2", seed2}});
  return g.add("AddV2", {g.add("Mul", {raw, sigma}, {}, "mul"), mu}, {}, full);
}

}  // namespace

Output placeholder(Graph& graph, DType dtype, const Shape& shape, std::string_view name) {
  return graph.add("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, name);
}

Output random_normal(Graph& graph, const Shape& shape, float stddev, float mean) {
  return scaled_random(graph, "RandomStandardNormal", "random_normal", shape, stddev, mean);
}

Output truncated_normal(Graph& graph, const Shape& shape, float stddev, float mean) {
  return scaled_random(graph, "TruncatedNormal", "truncated_normal", shape, stddev, mean);
}

Output operator+(Output a, Output b) { return binary("AddV2", "add", a, b); }
Output operator-(Output a, Output b) { return binary("Sub", "sub", a, b); }
Output operator*(Output a, Output b) { return binary("Mul", "mul", a, b); }
Output operator/(Output a, Output b) { return binary("RealDiv", "truediv", a, b); }
Output operator-(Output a) { return unary("Neg", a); }
Output operator+(Output a, float b) { return with_number("AddV2", "add", a, b); }
Output operator-(Output a, float b) { return with_number("Sub", "sub", a, b); }
Output operator*(Output a, float b) { return with_number("Mul", "mul", a, b); }
Output operator/(Output a, float b) { return with_number("RealDiv", "truediv", a, b); }

Output matmul(Output a, Output b, bool transpose_a, bool transpose_b) {
  return a.graph().add("MatMul", {a, b},
                       {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

Output relu(Output x) { return unary("Relu", x); }
Output sigmoid(Output x) { return unary("Sigmoid", x); }
Output tanh(Output x) { return unary("Tanh", x); }
Output square(Output x) { return unary("Square", x); }
Output log(Output x) { return unary("Log", x); }
Output softmax(Output logits) { return unary("Softmax", logits); }

Output reshape(Output x, const Shape& shape) {
  Graph& g = x.graph();
  std::string full = g.unique_name("Reshape");
  Output dims = g.constant(dims_vector(shape), full + "/shape/");
  return g.add("Reshape", {x, dims}, {}, full + "/");
}

Output cast(Output x, DType dtype) { return x.graph().add("Cast", {x}, {{"DstT", dtype}}); }
Output equal(Output a, Output b) { return binary("Equal", "Equal", a, b); }

Output argmax(Output x, int axis) {
  Graph& g = x.graph();
  std::string full = g.unique_name("ArgMax");
  Output dimension = g.constant(Tensor::scalar<int32_t>(axis), full + "/dimension/");
  return g.add("ArgMax", {x, dimension}, {}, full + "/");
}

Output reduce_sum(Output x, std::vector<int> axes) { return reduce("Sum", x, std::move(axes)); }
Output reduce_mean(Output x, std::vector<int> axes) { return reduce("Mean", x, std::move(axes)); }

Output softmax_cross_entropy(Output logits, Output labels) {
  Output inputs[] = {logits, labels};
  return logits.graph().add_node("SoftmaxCrossEntropyWithLogits", inputs).output(0);
}

Output sparse_softmax_cross_entropy(Output logits, Output labels) {
  Output inputs[] = {logits, labels};
  return logits.graph().add_node("SparseSoftmaxCrossEntropyWithLogits", inputs).output(0);
}

}  // namespace capstan
