// Losses that are weighted and averaged, as tf.losses builds them. Weights are a number, or a
// tensor of the losses' rank with dimensions of theirs or 1.

#include "build/composites.h"
#include "build/operators.h"

namespace capstan {
namespace {

[[noreturn]] void cannot_broadcast(Output weights, Output values) {
  throw invalid_argument(
      "weights of shape {} do not fit losses of shape {}: give a number, or weights of the same "
      "rank whose dimensions are 1 or the losses'",
      weights.shape(), values.shape());
}

void check_dims(Output weights, Output values) {
  for (int i = 0; i < values.shape().rank(); ++i) {
    int64_t w = weights.shape()[i], v = values.shape()[i];
    if (w >= 0 && v >= 0 && w != 1 && w != v) cannot_broadcast(weights, values);
  }
}

// Fails, when it runs, where `fit` is false.
Node& assert_fit(Output fit, Output weights, Output values) {
  Graph& g = fit.graph();
  Tensor text = Tensor::scalar<std::string>("weights do not fit the losses; their shapes:");
  Output inputs[] = {fit, g.constant(std::move(text)), weights, values};
  return g.add_node("Assert", inputs);
}

Node& assert_ranks(Output weights, Output values) {
  Output rank = rank_of(weights);
  Output fit =
      binary("LogicalOr", binary("Equal", rank, 0.0), binary("Equal", rank, rank_of(values)));
  return assert_fit(fit, shape_of(weights), shape_of(values));
}

Node& assert_dims(Output weights, Output values) {
  Output own = shape_of(weights), wanted = shape_of(values);
  Output fit = binary("LogicalOr", binary("Equal", own, 1.0), binary("Equal", own, wanted));
  return assert_fit(reduce("All", fit), own, wanted);
}

// The node that says that weights fit values.
Node* check_broadcast(const Hyper& given, Output values) {
  Graph& g = values.graph();
  Composite made(g, "assert_broadcastable");
  Output weights = as_tensor(g, given, DType::kFloat, "weights");
  shape_of(weights, "weights/shape");
  rank_of(weights, "weights/rank");
  shape_of(values, "values/shape");
  rank_of(values, "values/rank");
  const Shape &w = weights.shape(), &v = values.shape();
  if (w.known_rank() && w.rank() == 0)
    return &g.add_node("NoOp", {}, {}, "static_scalar_check_success");
  if (!w.known_rank() || !v.known_rank()) return &assert_ranks(weights, values);
  if (w.rank() != v.rank()) cannot_broadcast(weights, values);
  check_dims(weights, values);
  if (!w.fully_defined() || !v.fully_defined()) return &assert_dims(weights, values);
  return &g.add_node("NoOp", {}, {}, "static_dims_check_success");
}

ScopeGuard after(Graph& g, Node* check) {
  return g.control_dependencies(check ? std::vector<Node*>{check} : std::vector<Node*>{});
}

// Weights repeated over the shape of values.
Output broadcast_weights(Output weights, Output values) {
  if (weights.shape().fully_defined() && weights.shape() == values.shape()) return weights;
  Graph& g = values.graph();
  Composite made(g, "broadcast_weights");
  auto checked = after(g, check_broadcast(weights, values));
  return binary("Mul", weights, ones_like(values), made.self);
}

Output nonzero_weights(Output losses, Output weights) {
  Graph& g = losses.graph();
  Composite made(g, "num_present");
  Output absent = binary("Equal", weights, 0.0);
  Output zeros = zeros_like(weights), ones = ones_like(weights);
  Output present = g.add("Select", {absent, zeros, ones});
  return reduce("Sum", broadcast_weights(present, losses), {}, false, made.self);
}

Output number_of(Output losses) {
  Graph& g = losses.graph();
  Composite made(g, "num_elements");
  return cast_to(size_of(losses, made.self), losses.dtype());
}

Output count(Output losses, Output weights, Reduction reduction) {
  switch (reduction) {
    case Reduction::kMean: return reduce("Sum", ones_like(losses) * weights);
    case Reduction::kOverBatchSize: return number_of(losses);
    default: return nonzero_weights(losses, weights);
  }
}

Output reduced(Output weighted, Output losses, Output weights, Reduction reduction) {
  if (reduction == Reduction::kNone) return weighted;
  Output total = reduce("Sum", weighted);
  if (reduction == Reduction::kSum) return total;
  Output divisor = count(losses, weights, reduction);
  // 0 where nothing counts.
  return binary("DivNoNan", reduce("Sum", total), divisor, "value");
}

// Weights of the losses' type.
Output typed(Graph& g, const Hyper& weights, DType dtype) {
  if (auto* tensor = std::get_if<Output>(&weights)) return cast_to(*tensor, dtype);
  return as_tensor(g, weights, dtype, g.unique_name("Cast") + "/x/");
}

void check_shapes(Output labels, Output predictions) {
  if (!labels.shape().compatible_with(predictions.shape())) {
    throw invalid_argument("labels of shape {} do not fit predictions of shape {}", labels.shape(),
                           predictions.shape());
  }
}

}  // namespace

Output weighted_loss(Output losses, const Hyper& weights, Reduction reduction,
                     std::string_view name) {
  Graph& g = losses.graph();
  Composite made(g, name);
  auto checked = after(g, check_broadcast(weights, losses));
  const DType given = losses.dtype();
  losses = cast_to(losses, DType::kFloat);
  Output factor = typed(g, weights, DType::kFloat);
  return cast_to(reduced(binary("Mul", losses, factor), losses, factor, reduction), given);
}

Output mean_squared_error(Output labels, Output predictions, const Hyper& weights,
                          Reduction reduction, std::string_view name) {
  Composite made(labels.graph(), name);
  check_shapes(labels, predictions);
  Output each = binary("SquaredDifference", predictions, labels);
  return weighted_loss(each, weights, reduction, made.self);
}

Output absolute_difference(Output labels, Output predictions, const Hyper& weights,
                           Reduction reduction, std::string_view name) {
  Graph& g = labels.graph();
  Composite made(g, name);
  check_shapes(labels, predictions);
  Output each = g.add("Abs", {binary("Sub", predictions, labels)});
  return weighted_loss(each, weights, reduction, made.self);
}

Output log_loss(Output labels, Output predictions, const Hyper& weights, double epsilon,
                Reduction reduction, std::string_view name) {
  Composite made(labels.graph(), name);
  check_shapes(labels, predictions);
  Output hit = -binary("Mul", labels, log(predictions + epsilon));
  Output others = 1.0 - labels;
  Output miss = binary("Mul", others, log((1.0 - predictions) + epsilon));
  return weighted_loss(hit - miss, weights, reduction, made.self);
}

Output softmax_cross_entropy_loss(Output labels, Output logits, const Hyper& weights,
                                  double smoothing, Reduction reduction, std::string_view name) {
  Graph& g = logits.graph();
  Composite made(g, name);
  labels = cast_to(labels, logits.dtype());
  check_shapes(labels, logits);
  if (smoothing > 0) {
    Output classes = cast_to(item_of(shape_of(labels), 1), logits.dtype());
    Output share = smoothing / classes;
    labels = labels * (1 - smoothing) + share;
  }
  labels = g.add("StopGradient", {labels}, {}, "labels_stop_gradient");
  Output each = softmax_cross_entropy(logits, labels, "xentropy");
  return weighted_loss(each, weights, reduction, made.self);
}

Output sparse_softmax_cross_entropy_loss(Output labels, Output logits, const Hyper& weights,
                                         Reduction reduction, std::string_view name) {
  Graph& g = logits.graph();
  Composite made(g, name);
  Output factor = as_tensor(g, weights, DType::kFloat);
  const Shape& shape = labels.shape();
  if (shape.known_rank() && logits.shape().known_rank() && shape.rank() == logits.shape().rank()) {
    labels = g.add("Squeeze", {labels}, {{"squeeze_dims", std::vector<int64_t>{-1}}});
  }
  Output each = sparse_softmax_cross_entropy(logits, labels, "xentropy");
  const Shape& w = factor.shape();
  if (w.known_rank() && each.shape().known_rank() && w.rank() == each.shape().rank() + 1) {
    factor = g.add("Squeeze", {factor}, {{"squeeze_dims", std::vector<int64_t>{-1}}});
  }
  return weighted_loss(each, factor, reduction, made.self);
}

Output sigmoid_cross_entropy_loss(Output labels, Output logits, const Hyper& weights,
                                  double smoothing, Reduction reduction, std::string_view name) {
  Composite made(logits.graph(), name);
  labels = cast_to(labels, logits.dtype());
  check_shapes(labels, logits);
  if (smoothing > 0) labels = labels * (1 - smoothing) + 0.5 * smoothing;
  Output each = sigmoid_cross_entropy(logits, labels, "xentropy");
  return weighted_loss(each, weights, reduction, made.self);
}

namespace {

constexpr CompositeDef kRows[] = {
    {.name = "weighted_loss",
     .python = "losses.compute_weighted_loss (losses, weights=1.0, scope=None, "
               "loss_collection: collection='losses', reduction='weighted_sum_by_nonzero_weights')",
     .doc = "Losses times weights, made one number as the reduction says.",
     .scope = "weighted_loss",
     .constants = "losses=Const",
     .build = builder<weighted_loss>},
    {.name = "mean_squared_error",
     .python = "losses.mean_squared_error (labels: float32, predictions: float32, weights=1.0, "
               "scope=None, loss_collection: collection='losses', "
               "reduction='weighted_sum_by_nonzero_weights')",
     .doc = "The squares of what labels and predictions differ by.",
     .scope = "mean_squared_error",
     .order = "predictions labels",
     .build = builder<mean_squared_error>},
    {.name = "absolute_difference",
     .python = "losses.absolute_difference (labels: float32, predictions: float32, weights=1.0, "
               "scope=None, loss_collection: collection='losses', "
               "reduction='weighted_sum_by_nonzero_weights')",
     .doc = "What labels and predictions differ by, without sign.",
     .scope = "absolute_difference",
     .order = "predictions labels",
     .build = builder<absolute_difference>},
    {.name = "log_loss",
     .python = "losses.log_loss (labels: float32, predictions: float32, weights=1.0, "
               "epsilon=1e-7, scope=None, loss_collection: collection='losses', "
               "reduction='weighted_sum_by_nonzero_weights')",
     .doc = "The cross entropy of labels and probabilities; epsilon keeps logarithms finite.",
     .scope = "log_loss",
     .order = "predictions labels",
     .build = builder<log_loss>},
    {.name = "softmax_cross_entropy_loss",
     .python = "losses.softmax_cross_entropy (onehot_labels, logits, weights=1.0, "
               "label_smoothing=0, scope=None, loss_collection: collection='losses', "
               "reduction='weighted_sum_by_nonzero_weights')",
     .doc = "The cross entropy of rows of probabilities and the softmax of logits. Smoothing moves "
            "labels towards an equal share of all classes.",
     .scope = "softmax_cross_entropy_loss",
     .order = "logits onehot_labels",
     .constants = "logits=Const onehot_labels=Const",
     .build = builder<softmax_cross_entropy_loss>},
    {.name = "sparse_softmax_cross_entropy_loss",
     .python = "losses.sparse_softmax_cross_entropy (labels, logits, weights=1.0, scope=None, "
               "loss_collection: collection='losses', "
               "reduction='weighted_sum_by_nonzero_weights')",
     .doc = "The cross entropy of the numbers of classes and the softmax of logits.",
     .scope = "sparse_softmax_cross_entropy_loss",
     .order = "logits labels",
     .constants = "logits=Const labels=Const",
     .build = builder<sparse_softmax_cross_entropy_loss>},
    {.name = "sigmoid_cross_entropy_loss",
     .python = "losses.sigmoid_cross_entropy (multi_class_labels, logits, weights=1.0, "
               "label_smoothing=0, scope=None, loss_collection: collection='losses', "
               "reduction='weighted_sum_by_nonzero_weights')",
     .doc = "The cross entropy of labels and the sigmoid of logits, element by element. Smoothing "
            "moves labels towards 1/2.",
     .scope = "sigmoid_cross_entropy_loss",
     .order = "logits multi_class_labels",
     .constants = "logits=Const multi_class_labels=Const",
     .build = builder<sigmoid_cross_entropy_loss>},
};

}  // namespace

CompositeFamily loss_composites() { return kRows; }

}  // namespace capstan
