// Cross entropies, dropout and small layers, each as TensorFlow builds it.

#include "build/composites.h"
#include "build/operators.h"
#include "build/random.h"

namespace capstan {
namespace {

Output packed(Output item, const std::string& name) {
  return item.graph().add("Pack", {item}, {{"axis", int64_t(0)}}, name);
}

// [d0, ..., dn] as [d0 * ..., dn].
Output flatten_outer(Output x) {
  Graph& g = x.graph();
  Output rank = rank_of(x), shape = shape_of(x);
  Output last = binary("Sub", rank, 1.0);
  std::string slice = g.unique_name("Slice");
  Output begin = packed(last, slice + "/begin/");
  Output size = g.constant(int_vector({1}), slice + "/size/");
  Output columns = g.add("Slice", {shape, begin, size}, {}, slice + "/");
  std::string concat = g.unique_name("concat");
  Output rows = g.constant(int_vector({-1}), concat + "/values_0/");
  Output axis = g.constant(Tensor::scalar<int32_t>(0), concat + "/axis/");
  Output flat = g.add("ConcatV2", {rows, columns, axis}, {}, concat + "/");
  return g.add("Reshape", {x, flat});
}

// All dimensions of x but the last.
Output outer_dims(Output rank, Output shape) {
  Graph& g = shape.graph();
  Output last = binary("Sub", rank, 1.0);
  std::string slice = g.unique_name("Slice");
  Output begin = g.constant(int_vector({0}), slice + "/begin/");
  return g.add("Slice", {shape, begin, packed(last, slice + "/size/")}, {}, slice + "/");
}

Output first_of(std::string_view op, Output a, Output b, std::string_view name) {
  Output inputs[] = {a, b};
  return a.graph().add_node(op, inputs, {}, name).output(0);
}

Tensor text(std::string_view words) {
  Tensor t(DType::kString, {});
  t.data<std::string>()[0] = words;
  return t;
}

// Fails, when it runs, where labels are not the logits' rows.
Node& check_rows(Output labels, Output logits) {
  Graph& g = logits.graph();
  Output given = g.add("Shape", {labels});
  Output wanted = slice_of(g.add("Shape", {logits}), std::nullopt, -1);
  Composite made(g, "assert_equal_1");
  Output same = reduce("All", binary("Equal", given, wanted));
  Composite inner(g, "Assert");
  const std::string_view words[] = {
      "Shape of labels must equal the shape of logits except for the last dimension; ",
      "labels have the shape", "logits, without the last dimension,"};
  for (std::string_view line : words) g.constant(text(line));  // TensorFlow makes them twice
  Output inputs[] = {same,
                     g.constant(text(words[0]), "Assert/data_0"),
                     g.constant(text(words[1]), "Assert/data_1"),
                     given,
                     g.constant(text(words[2]), "Assert/data_3"),
                     wanted};
  return g.add_node("Assert", inputs);
}

Output flat_sparse_cross_entropy(Output logits, Output labels, std::string_view op) {
  Graph& g = logits.graph();
  auto after = g.control_dependencies({&check_rows(labels, logits)});
  Output shape = g.add("Shape", {logits});
  Output classes = item_of(shape, rank_of(logits) - 1.0);
  std::string rows = g.unique_name("Reshape");
  Output any = g.constant(Tensor::scalar<int32_t>(-1), rows + "/shape/0/");
  Output dims = g.add("Pack", {any, classes}, {{"axis", int64_t(0)}}, rows + "/shape/");
  Output flat_logits = g.add("Reshape", {logits, dims}, {}, rows + "/");
  return first_of(op, flat_logits, reshape(labels, {-1}), op);
}

}  // namespace

Output softmax_cross_entropy(Output logits, Output labels, std::string_view name) {
  Graph& g = logits.graph();
  Composite made(g, name);
  Output rank = rank_of(logits), shape = shape_of(logits);
  Output flat_logits = flatten_outer(logits);
  Output flat_labels = flatten_outer(labels);
  Output flat = first_of("SoftmaxCrossEntropyWithLogits", flat_logits, flat_labels, made.self);
  Output cost = g.add("Reshape", {flat, outer_dims(rank, shape)});
  if (logits.shape().known_rank() && logits.shape().rank() > 0) {
    std::span dims = logits.shape().dims();
    g.set_shape(cost, Shape(dims.first(dims.size() - 1)));
  }
  return cost;
}

Output sparse_softmax_cross_entropy(Output logits, Output labels, std::string_view name) {
  const Shape& shape = logits.shape();
  if (shape.known_rank() && shape.rank() == 0) {
    throw invalid_argument("'{}' is a scalar: logits need a dimension of classes", logits.name());
  }
  Graph& g = logits.graph();
  Composite made(g, name);
  Output labels_shape = shape_of(labels);
  // The node has the last part of the scope's name.
  std::string_view op = "SparseSoftmaxCrossEntropyWithLogits", own = name;
  if (name.ends_with('/')) {
    own.remove_suffix(1);
    own = own.substr(own.rfind('/') + 1);
  }
  if (shape.known_rank() && shape.rank() == 2) return first_of(op, logits, labels, own);
  Output cost = g.add("Reshape", {flat_sparse_cross_entropy(logits, labels, op), labels_shape});
  g.set_shape(cost, labels.shape());
  return cost;
}

Output sigmoid_cross_entropy(Output logits, Output labels, std::string_view name) {
  Graph& g = logits.graph();
  Composite made(g, name);
  // max(x, 0) - x * z + log(1 + exp(-|x|))
  Output zeros = zeros_like(logits);
  Output positive = binary("GreaterEqual", logits, zeros);
  Output rectified = g.add("Select", {positive, logits, zeros});
  Output minus_abs = g.add("Select", {positive, -logits, logits});
  Output linear = rectified - logits * labels;
  return binary("AddV2", linear, g.add("Log1p", {exp(minus_abs)}), made.self);
}

Output weighted_cross_entropy(Output logits, Output labels, const Hyper& weight,
                              std::string_view name) {
  if (!labels.shape().compatible_with(logits.shape())) {
    throw invalid_argument("labels of shape {} do not fit logits of shape {}", labels.shape(),
                           logits.shape());
  }
  Graph& g = logits.graph();
  Composite made(g, name);
  Output extra = std::holds_alternative<double>(weight) ? (std::get<double>(weight) - 1) * labels
                                                        : (std::get<Output>(weight) - 1.0) * labels;
  Output factor = 1.0 + extra;
  Output linear = (1.0 - labels) * logits;
  Output small = g.add("Log1p", {exp(-g.add("Abs", {logits}))});
  return binary("AddV2", linear, factor * (small + relu(-logits)), made.self);
}

Output xw_plus_b(Output x, Output weights, Output biases, std::string_view name) {
  Composite made(x.graph(), name);
  return x.graph().add("BiasAdd", {matmul(x, weights), biases}, {}, made.self);
}

Output relu_layer(Output x, Output weights, Output biases, std::string_view name) {
  Graph& g = x.graph();
  Composite made(g, name);
  return g.add("Relu", {g.add("BiasAdd", {matmul(x, weights), biases})}, {}, made.self);
}

Output l2_normalize(Output x, const Axes& axes, double epsilon, std::string_view name) {
  Composite made(x.graph(), name);
  Output total = reduce("Sum", square(x), axes, true);
  Output norm = x.graph().add("Rsqrt", {binary("Maximum", total, epsilon)});
  return binary("Mul", x, norm, made.self);
}

Output softmax_along(std::string_view op, Output logits, int axis, std::string_view name) {
  const Shape& shape = logits.shape();
  if (!shape.known_rank() && axis < 0) {
    throw invalid_argument("{} along axis {} needs the rank of '{}', which is unknown", op, axis,
                           logits.name());
  }
  if (shape.known_rank() && (axis < -shape.rank() || axis >= shape.rank())) {
    throw invalid_argument("{} along axis {}: '{}' has {} axes", op, axis, logits.name(),
                           shape.rank());
  }
  Graph& g = logits.graph();
  if (axis < 0) axis += shape.rank();
  rank_of(logits);  // TensorFlow makes it twice
  Output rank = rank_of(logits);
  // The axis changes places with the last one, and back.
  auto turned = [&](Output x, std::string_view as) {
    Output last = binary("Sub", rank, 1.0);
    Output before = range_between(g, 0.0, double(axis));
    Output between = range_between(g, axis + 1.0, last);
    std::string concat = g.unique_name("concat");
    Output moved = packed(last, concat + "/values_1/");
    Output own = g.constant(int_vector({axis}), concat + "/values_3/");
    Output along = g.constant(Tensor::scalar<int32_t>(0), concat + "/axis/");
    Output order = g.add("ConcatV2", {before, moved, between, own, along}, {}, concat + "/");
    return g.add("Transpose", {x, order}, {}, as);
  };
  return turned(g.add(op, {turned(logits, "transpose")}), name);
}

Output dropout(Output x, const Hyper& rate, const ShapeArgument& noise, Seed seed,
               std::string_view name) {
  Graph& g = x.graph();
  Composite made(g, name);
  Output kept;
  if (auto* number = std::get_if<double>(&rate)) {
    if (*number < 0 || *number >= 1) {
      throw invalid_argument("a dropout rate lies within [0, 1), not at {}", *number);
    }
    if (*number == 0) return x;
    kept = binary("Mul", x, g.constant(scalar_of(x.dtype(), 1 / (1 - *number))));
  } else {
    Output one = g.constant(scalar_of(x.dtype(), 1));
    kept = binary("RealDiv", x, binary("Sub", one, std::get<Output>(rate)));
  }
  Output dims = std::holds_alternative<Output>(noise) ? std::get<Output>(noise) : Output{};
  if (std::holds_alternative<std::monostate>(noise)) dims = shape_of(x);
  Composite random(g, "random_uniform");
  if (!dims) dims = g.constant(int_vector(std::get<Shape>(noise).dims()), "shape");
  Output drawn = random_uniform(dims, {}, {}, x.dtype(), seed, random.self);
  random.scope.close();
  Output keep = binary("GreaterEqual", drawn, rate);
  Output zero = g.constant(scalar_of(x.dtype(), 0));
  Output result = g.add("SelectV2", {keep, kept, zero});
  g.set_shape(result, x.shape());
  return result;
}

Output zero_fraction(Output x, std::string_view name) {
  Graph& g = x.graph();
  Composite made(g, name);
  Output present = cast_to(binary("NotEqual", x, 0.0), DType::kFloat);
  Output total = cast_to(size_of(x), DType::kFloat);
  return binary("Sub", 1.0, reduce("Sum", present) / total, "fraction");
}

namespace {

constexpr CompositeDef kRows[] = {
    {.name = "softmax_cross_entropy",
     .python = "(logits, labels, name=None)",
     .doc = "The loss of each row; labels are rows of probabilities. No gradient goes to the "
            "labels where they are stopped before.",
     .scope = "softmax_cross_entropy_with_logits",
     .build = builder<softmax_cross_entropy>},
    {.name = "sparse_softmax_cross_entropy",
     .python = "(logits, labels, name=None)",
     .doc = "The loss of each row; labels are the numbers of classes.",
     .scope = "SparseSoftmaxCrossEntropyWithLogits",
     .build = builder<sparse_softmax_cross_entropy>},
    {.name = "sigmoid_cross_entropy",
     .python = "(logits, labels, name=None)",
     .doc = "The loss of each element, without large exponentials.",
     .scope = "logistic_loss",
     .build = builder<sigmoid_cross_entropy>},
    {.name = "weighted_cross_entropy",
     .python = "(logits, labels, pos_weight, name=None)",
     .doc = "The same, with errors at positive labels counted `weight` times.",
     .scope = "logistic_loss",
     .build = builder<weighted_cross_entropy>},
    {.name = "xw_plus_b",
     .python = "nn.xw_plus_b (x, weights, biases, name=None)",
     .doc = "x * weights + biases, of matrices.",
     .scope = "xw_plus_b",
     .build = builder<xw_plus_b>},
    {.name = "relu_layer",
     .python = "nn.relu_layer (x, weights, biases, name=None)",
     .doc = "relu(x * weights + biases), of matrices.",
     .scope = "relu_layer",
     .build = builder<relu_layer>},
    {.name = "l2_normalize",
     .python = "nn.l2_normalize (x, axis=None, epsilon=1e-12, name=None, dim: for axis=None)",
     .doc = "x over its length along these axes.",
     .scope = "l2_normalize",
     .build = builder<l2_normalize>},
    {.name = "softmax_along",
     .python = "(op, logits, axis, name=None)",
     .doc = "Softmax or LogSoftmax along an axis that is not the last.",
     .scope = "transpose",
     .build = builder<softmax_along>},
    {.name = "dropout",
     .python = "(x, rate, noise_shape=None, seed=None, name=None)",
     .doc = "Each element is 0 with probability `rate`, and else scaled by 1 / (1 - rate). "
            "Elements for which `noise` (a shape; x's own without it) has one item share their "
            "fate.",
     .scope = "dropout",
     .build = builder<dropout>},
    {.name = "zero_fraction",
     .python = "zero_fraction nn.zero_fraction math.zero_fraction (value, name=None)",
     .doc = "How many of the elements are 0, as a part of all.",
     .scope = "zero_fraction",
     .build = builder<zero_fraction>},
};

}  // namespace

CompositeFamily nn_composites() { return kRows; }

}  // namespace capstan
