// Softmax, the cross entropies built on it, and the best k of each row.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/softmax.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"

namespace capstan {
namespace {

using Kernel = void (*)(KernelContext&);
void call_state(KernelContext& c) { c.state<Kernel>()(c); }

// --- Softmax and LogSoftmax ----------------------------------------------------------------------

// Rows of the last dimension.
template <class T>
SoftmaxArgs<T> rows_of(const Tensor& logits) {
  const Shape& shape = logits.shape();
  if (shape.rank() < 1)
    throw invalid_argument("softmax needs logits of at least one dimension, not a scalar");
  int64_t cols = shape[shape.rank() - 1];
  return {logits.data<T>(), cols ? logits.size() / cols : 0, cols};
}

template <class T, bool kLog>
void softmax(KernelContext& c) {
  const Tensor& x = c.in(0);
  SoftmaxArgs<T> rows = rows_of<T>(x);
  (kLog ? log_softmax_rows<T> : softmax_rows<T>)(rows, c.out(0, x.shape()).template data<T>(),
                                                 c.pool(), c.isa());
}

template <bool kLog>
std::shared_ptr<void> prepare_softmax(const Node& node) {
  return std::make_shared<Kernel>(for_real(node, node.output_type(0), [](auto tag) -> Kernel {
    return softmax<typename decltype(tag)::type, kLog>;
  }));
}

Values softmax_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output product = mul(graph, g.dy(0), g.y(0));
  Output sum = reduce_sum(graph, product, number(DType::kInt32, -1), true);
  return {mul(graph, sub(graph, g.dy(0), sum), g.y(0))};
}

Values log_softmax_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output exp = g.op("Exp", {g.y(0)});
  Output sum = reduce_sum(graph, g.dy(0), number(DType::kInt32, -1), true);
  return {sub(graph, g.dy(0), mul(graph, sum, exp))};
}

constexpr OpDef kSoftmax = {
    .name = "Softmax",
    .doc = "exp(logits) of each row over its sum.",
    .inputs = {{"logits", "T"}},
    .outputs = {{"softmax", "T"}},
    .attrs = {{"T", kRealTypes}},
    .shape = same_shape,
    .kernel = call_state,
    .prepare = prepare_softmax<false>,
    .gradient = softmax_gradient,
    .samples = {"float[2,3]", "float[3]"},
};

constexpr OpDef kLogSoftmax = {
    .name = "LogSoftmax",
    .doc = "The logarithm of the softmax of each row.",
    .inputs = {{"logits", "T"}},
    .outputs = {{"logsoftmax", "T"}},
    .attrs = {{"T", kRealTypes}},
    .shape = same_shape,
    .kernel = call_state,
    .prepare = prepare_softmax<true>,
    .gradient = log_softmax_gradient,
    .samples = {"float[2,3]"},
};

// --- Cross entropies -----------------------------------------------------------------------------

template <class T>
void dense_cross_entropy(KernelContext& c) {
  const Tensor &logits = c.in(0), &labels = c.in(1);
  const Shape& shape = logits.shape();
  if (shape.rank() != 2 || shape != labels.shape()) {
    throw invalid_argument(
        "{} needs logits and labels of one shape [batch, classes], but they have {} and {}",
        c.node().op(), shape, labels.shape());
  }
  Tensor &loss = c.out(0, Shape{shape[0]}), &backprop = c.out(1, shape);
  cross_entropy_rows<T>({logits.data<T>(), shape[0], shape[1]}, labels.data<T>(), loss.data<T>(),
                        backprop.data<T>(), c.pool(), c.isa());
}

// The labels as int64, copied into `room` if they are not; throws InvalidArgument for one that
// names no class.
const int64_t* checked_labels(const Tensor& labels, int64_t classes, std::vector<int64_t>& room) {
  bool wide = labels.dtype() == DType::kInt64;
  if (!wide) room.resize(size_t(labels.size()));
  for (int64_t r = 0; r < labels.size(); ++r) {
    int64_t label = int_at(labels, r);
    if (label < 0 || label >= classes) {
      throw invalid_argument("label {} of row {} is outside [0, {})", label, r, classes);
    }
    if (!wide) room[size_t(r)] = label;
  }
  return wide ? labels.data<int64_t>() : room.data();
}

template <class T>
void sparse_cross_entropy(KernelContext& c) {
  const Tensor &logits = c.in(0), &labels = c.in(1);
  const Shape& shape = logits.shape();
  if (shape.rank() != 2 || labels.shape() != Shape{shape[0]}) {
    throw invalid_argument(
        "{} needs logits [batch, classes] and labels [batch], but they have {} and {}",
        c.node().op(), shape, labels.shape());
  }
  std::vector<int64_t> room;
  const int64_t* classes = checked_labels(labels, shape[1], room);
  Tensor &loss = c.out(0, labels.shape()), &backprop = c.out(1, shape);
  sparse_cross_entropy_rows<T>({logits.data<T>(), shape[0], shape[1]}, classes, loss.data<T>(),
                               backprop.data<T>(), c.pool(), c.isa());
}

// The gradient of a loss per row, spread over the row.
Output spread(Graph& graph, Output per_row, Output rows) {
  return mul(graph, expand_dims(graph, per_row, -1), rows);
}

// d(loss)/d(logits), plus what comes through the backprop output when somebody differentiates that.
Output logits_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output grad = spread(graph, g.dy(0), g.y(1));
  if (is_zeros(g.dy(1))) return grad;
  Output softmax = g.op("Softmax", {g.x(0)});
  Output left = expand_dims(graph, g.dy(1), 1), right = expand_dims(graph, softmax, 2);
  Output product = g.op("BatchMatMulV2", {left, right}, {}, "MatMul");
  product = g.op("Squeeze", {product}, {{"squeeze_dims", std::vector<int64_t>{1}}});
  Output second = mul(graph, sub(graph, g.dy(1), product), softmax);
  return add(graph, grad, second);
}

Values dense_gradient(GradContext& g) {
  Output logits = logits_gradient(g);
  Output minus_log = neg(g.graph(), g.op("LogSoftmax", {g.x(0)}));
  return {logits, spread(g.graph(), g.dy(0), minus_log)};
}

void dense_shape(ShapeContext& c) {
  Shape shape = c.with_rank(0, 2).merged_with(c.with_rank(1, 2));
  c.out(0, Shape{shape[0]});
  c.out(1, shape);
}

void sparse_shape(ShapeContext& c) {
  Shape logits = c.with_rank(0, 2);
  Shape rows = Shape{logits[0]}.merged_with(c.with_rank(1, 1));
  c.out(0, rows);
  c.out(1, Shape{rows[0], logits[1]});
}

constexpr OpDef kSoftmaxCrossEntropy = {
    .name = "SoftmaxCrossEntropyWithLogits",
    .doc = "The cross entropy of each row's softmax against a distribution, and its gradient.",
    .inputs = {{"features", "T"}, {"labels", "T"}},
    .outputs = {{"loss", "T"}, {"backprop", "T"}},
    .attrs = {{"T", kRealTypes}},
    .shape = dense_shape,
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_real(node, node.output_type(0), [](auto tag) -> Kernel {
        return dense_cross_entropy<typename decltype(tag)::type>;
      }));
    },
    .gradient = dense_gradient,
    .samples = {"float[2,3] float[2,3]{0.2,0.3,0.5,1,0,0}"},
};

constexpr OpDef kSparseSoftmaxCrossEntropy = {
    .name = "SparseSoftmaxCrossEntropyWithLogits",
    .doc = "The cross entropy of each row's softmax against one class, and its gradient.",
    .inputs = {{"features", "T"}, {"labels", "Tlabels"}},
    .outputs = {{"loss", "T"}, {"backprop", "T"}},
    .attrs = {{"T", kRealTypes}, {"Tlabels", kIndexTypes, "int64"}},
    .shape = sparse_shape,
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_real(node, node.output_type(0), [](auto tag) -> Kernel {
        return sparse_cross_entropy<typename decltype(tag)::type>;
      }));
    },
    .gradient = [](GradContext& g) -> Values {
      return {logits_gradient(g), {}};
    },
    .samples = {"float[2,3] int32[2]{2,0}", "float[2,3] int64[2]{1,1}"},
};

// --- InTopK and TopKV2 ---------------------------------------------------------------------------

// Whether fewer than k classes beat the target; predictions that are not finite never count.
void in_top_k(KernelContext& c, int64_t k) {
  const Tensor &predictions = c.in(0), &targets = c.in(1);
  const Shape& shape = predictions.shape();
  if (shape.rank() != 2 || targets.shape() != Shape{shape[0]}) {
    throw invalid_argument(
        "{} needs predictions [batch, classes] and targets [batch], but they have {} and {}",
        c.node().op(), shape, targets.shape());
  }
  Tensor& out = c.out(0, targets.shape());
  for (int64_t r = 0; r < shape[0]; ++r) {
    const float* row = predictions.data<float>() + r * shape[1];
    int64_t target = int_at(targets, r), better = 0;
    bool usable = target >= 0 && target < shape[1] && std::isfinite(row[target]);
    for (int64_t i = 0; usable && i < shape[1]; ++i) {
      usable = std::isfinite(row[i]);
      better += row[i] > row[target];
    }
    out.data<bool>()[r] = usable && better < k;
  }
}

void in_top_k_shape(ShapeContext& c) {
  c.out(0, Shape{c.with_rank(0, 2)[0]}.merged_with(c.with_rank(1, 1)));
}

constexpr OpDef kInTopK = {
    .name = "InTopK",
    .doc = "Whether each target is among the k best predictions of its row.",
    .inputs = {{"predictions", "float"}, {"targets", "T"}},
    .outputs = {{"precision", "bool"}},
    .attrs = {{"k", "int"}, {"T", kIndexTypes, "int32"}},
    .shape = in_top_k_shape,
    .kernel = [](KernelContext& c) { in_top_k(c, c.state<int64_t>()); },
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<int64_t>(node.attrs().get<int64_t>("k"));
    },
    .no_gradient = true,
    .samples = {"float[2,3] int32[2]{1,2} k=2"},
};

constexpr OpDef kInTopKV2 = {
    .name = "InTopKV2",
    .doc = "Whether each target is among the k best predictions of its row.",
    .inputs = {{"predictions", "float"}, {"targets", "T"}, {"k", "T", 0}},
    .outputs = {{"precision", "bool"}},
    .attrs = {{"T", kIndexTypes, "int32"}},
    .shape = in_top_k_shape,
    .kernel = [](KernelContext& c) { in_top_k(c, int_at(c.in(2), 0)); },
    .no_gradient = true,
    .samples = {"float[2,3] int32[2]{1,2} int32[]{2}"},
};

// Rows of k; -1 where it is not known.
Shape top_k_shape(const Node& node, const Shape& x, int64_t k) {
  const int last = x.rank() - 1;
  if (last < 0 || k < -1 || (x[last] >= 0 && k > x[last])) {
    throw invalid_argument("TopKV2 (node '{}'): k = {} does not fit rows of shape {}", node.name(),
                           k, x);
  }
  Shape out = x;
  out[last] = k;
  return out;
}

template <class T>
void top_k(KernelContext& c) {
  const Tensor& x = c.in(0);
  int64_t k = int_at(c.in(1), 0);
  if (k < 0) throw invalid_argument("TopKV2 needs a k that is not negative, got {}", k);
  const Shape shape = top_k_shape(c.node(), x.shape(), k);
  const int64_t width = x.shape()[shape.rank() - 1];
  Tensor &values = c.out(0, shape), &indices = c.out(1, shape);
  std::vector<int32_t> order(static_cast<size_t>(width));
  for (int64_t r = 0; r < (width ? x.size() / width : 0); ++r) {
    const T* row = x.data<T>() + r * width;
    std::iota(order.begin(), order.end(), 0);
    // The lower index comes first among equals.
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int32_t a, int32_t b) {
      return row[a] > row[b] || (row[a] == row[b] && a < b);
    });
    for (int64_t i = 0; i < k; ++i) {
      values.data<T>()[r * k + i] = row[order[size_t(i)]];
      set_int(indices, r * k + i, order[size_t(i)]);
    }
  }
}

constexpr OpDef kTopKV2 = {
    .name = "TopKV2",
    .python = "nn.top_k math.top_k (input, k=1, sorted)",
    .doc = "The k largest elements of each row and where they are.",
    .inputs = {{"input", "T"}, {"k", "Tk", 0}},
    .outputs = {{"values", "T"}, {"indices", "index_type"}},
    .attrs = {{"sorted", "bool", "true"},
              {"T", kNumberTypes},
              {"Tk", kIndexTypes, "int32"},
              {"index_type", kIndexTypes, "int32"}},
    .shape =
        [](ShapeContext& c) {
          Shape shape = c.in(0);
          if (shape.known_rank()) {
            const int64_t k = c.constant(1) ? int_at(*c.constant(1), 0) : -1;
            shape = top_k_shape(c.node(), shape, k);
          }
          c.out(0, shape), c.out(1, shape);
        },
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_number(node, node.output_type(0), [](auto tag) -> Kernel {
        return top_k<typename decltype(tag)::type>;
      }));
    },
    .samples = {"float[2,5] int32[]{2}"},
};

constexpr const OpDef* kRows[] = {
    &kSoftmax,  &kLogSoftmax, &kSoftmaxCrossEntropy, &kSparseSoftmaxCrossEntropy, &kInTopK,
    &kInTopKV2, &kTopKV2};

}  // namespace

OpFamily softmax_ops() { return kRows; }

}  // namespace capstan
