// Softmax, the cross entropies built on it, and the best k of each row.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/plain_blocks.h"
#include "ops/types.h"

namespace capstan {
namespace {

using Kernel = void (*)(KernelContext&);
void call_state(KernelContext& c) { c.state<Kernel>()(c); }

// --- Softmax and LogSoftmax ---------------------------------------------------------------------

// Rows of the last dimension, cut into groups that fit the cache: each group is one piece of work, so
// the cut does not depend on the number of threads.
struct Rows {
  int64_t count = 0, width = 0, per_group = 1;

  explicit Rows(const Shape& s) {
    if (s.rank() < 1) throw invalid_argument("softmax needs logits of at least one dimension, not a scalar");
    width = s[s.rank() - 1];
    count = 1;
    for (int i = 0; i + 1 < s.rank(); ++i) count *= s[i];
    constexpr int64_t kGroupElements = 8192;
    per_group = std::max<int64_t>(1, kGroupElements / std::max<int64_t>(width, 1));
  }

  // f(first row, rows of the group).
  template <class F>
  void for_each_group(ThreadPool& pool, F&& f) const {
    if (count == 0 || width == 0) return;
    int64_t groups = (count + per_group - 1) / per_group;
    if (groups == 1) return f(int64_t(0), count);
    pool.parallel_for(groups, [&](int64_t group) {
      int64_t first = group * per_group;
      f(first, std::min(per_group, count - first));
    });
  }
};

template <class T>
T largest_of(const T* x, int64_t n) {
  T largest = x[0];
  for (int64_t i = 1; i < n; ++i) largest = std::max(largest, x[i]);
  return largest;
}

template <class T>
T sum_of(const T* x, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// out = exp(x - largest of the row), for whole rows; the largest elements go to `largest` if given.
template <class T>
void exp_rows(const T* x, T* out, int64_t rows, int64_t width, T* largest, Isa isa) {
  for (int64_t r = 0; r < rows; ++r) {
    T top = largest_of(x + r * width, width);
    if (largest) largest[r] = top;
    for (int64_t i = r * width; i < (r + 1) * width; ++i) out[i] = x[i] - top;
  }
  const void* in[] = {out};
  exp_block(DTypeOf<T>::value, isa)(in, out, rows * width);
}

template <class T>
void softmax_group(const T* x, T* y, int64_t rows, int64_t width, Isa isa) {
  exp_rows<T>(x, y, rows, width, nullptr, isa);
  for (int64_t r = 0; r < rows; ++r, y += width) {
    T scale = T(1) / sum_of(y, width);
    for (int64_t i = 0; i < width; ++i) y[i] *= scale;
  }
}

template <class T>
void log_softmax_group(const T* x, T* y, int64_t rows, int64_t width, Isa isa) {
  exp_rows<T>(x, y, rows, width, nullptr, isa);
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    T top = largest_of(x, width), log_sum = std::log(sum_of(y, width));
    for (int64_t i = 0; i < width; ++i) y[i] = x[i] - top - log_sum;
  }
}

template <class T, bool kLog>
void softmax(KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0, x.shape());
  Rows rows(x.shape());
  rows.for_each_group(c.pool(), [&](int64_t first, int64_t count) {
    int64_t at = first * rows.width;
    (kLog ? log_softmax_group<T> : softmax_group<T>)(x.data<T>() + at, y.data<T>() + at, count, rows.width,
                                                     c.isa());
  });
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

// --- Cross entropies ----------------------------------------------------------------------------

// One row, of which `backprop` holds exp(logits - top) and `loss` holds top. Afterwards backprop is
// softmax - labels.
template <class T>
void dense_row(const T* logits, const T* labels, T* backprop, T* loss, int64_t width) {
  T top = *loss, sum = sum_of(backprop, width), log_sum = std::log(sum), total = 0;
  for (int64_t i = 0; i < width; ++i) {
    total += labels[i] * (log_sum - (logits[i] - top));
    backprop[i] = backprop[i] / sum - labels[i];
  }
  *loss = total;
}

template <class T>
void dense_cross_entropy(KernelContext& c) {
  const Tensor &logits = c.in(0), &labels = c.in(1);
  if (logits.shape().rank() != 2 || logits.shape() != labels.shape()) {
    throw invalid_argument("{} needs logits and labels of one shape [batch, classes], but they have {} and {}",
                           c.node().op(), logits.shape(), labels.shape());
  }
  Rows rows(logits.shape());
  Tensor &loss = c.out(0, Shape{rows.count}), &backprop = c.out(1, logits.shape());
  if (rows.width == 0) std::fill_n(loss.data<T>(), rows.count, T(0));
  rows.for_each_group(c.pool(), [&](int64_t first, int64_t count) {
    int64_t at = first * rows.width;
    const T *x = logits.data<T>() + at, *y = labels.data<T>() + at;
    T *out = backprop.data<T>() + at, *losses = loss.data<T>() + first;
    exp_rows(x, out, count, rows.width, losses, c.isa());
    for (int64_t r = 0; r < count; ++r) {
      int64_t row = r * rows.width;
      dense_row(x + row, y + row, out + row, losses + r, rows.width);
    }
  });
}

template <class T>
void sparse_row(const T* logits, int64_t label, T* backprop, T* loss, int64_t width) {
  T sum = sum_of(backprop, width);
  *loss = std::log(sum) - (logits[label] - *loss);
  for (int64_t i = 0; i < width; ++i) backprop[i] /= sum;
  backprop[label] -= T(1);
}

template <class T>
void sparse_cross_entropy(KernelContext& c) {
  const Tensor &logits = c.in(0), &labels = c.in(1);
  const Shape& shape = logits.shape();
  if (shape.rank() != 2 || labels.shape() != Shape{shape[0]}) {
    throw invalid_argument("{} needs logits [batch, classes] and labels [batch], but they have {} and {}",
                           c.node().op(), shape, labels.shape());
  }
  for (int64_t r = 0; r < labels.size(); ++r) {
    int64_t label = int_at(labels, r);
    if (label < 0 || label >= shape[1]) {
      throw invalid_argument("label {} of row {} is outside [0, {})", label, r, shape[1]);
    }
  }
  Rows rows(shape);
  Tensor &loss = c.out(0, labels.shape()), &backprop = c.out(1, shape);
  rows.for_each_group(c.pool(), [&](int64_t first, int64_t count) {
    int64_t at = first * rows.width;
    T *out = backprop.data<T>() + at, *losses = loss.data<T>() + first;
    exp_rows(logits.data<T>() + at, out, count, rows.width, losses, c.isa());
    for (int64_t r = 0; r < count; ++r) {
      int64_t row = r * rows.width;
      sparse_row(logits.data<T>() + at + row, int_at(labels, first + r), out + row, losses + r, rows.width);
    }
  });
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
    .gradient = [](GradContext& g) -> Values { return {logits_gradient(g), {}}; },
    .samples = {"float[2,3] int32[2]{2,0}", "float[2,3] int64[2]{1,1}"},
};

// --- InTopK and TopKV2 --------------------------------------------------------------------------

// Whether fewer than k classes beat the target; predictions that are not finite never count.
void in_top_k(KernelContext& c, int64_t k) {
  const Tensor &predictions = c.in(0), &targets = c.in(1);
  const Shape& shape = predictions.shape();
  if (shape.rank() != 2 || targets.shape() != Shape{shape[0]}) {
    throw invalid_argument("{} needs predictions [batch, classes] and targets [batch], but they have {} and {}",
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
    .inputs = {{"predictions", "float"}, {"targets", "T"}, {"k", "T"}},
    .outputs = {{"precision", "bool"}},
    .attrs = {{"T", kIndexTypes, "int32"}},
    .shape = in_top_k_shape,
    .kernel = [](KernelContext& c) { in_top_k(c, int_at(c.in(2), 0)); },
    .no_gradient = true,
    .samples = {"float[2,3] int32[2]{1,2} int32[]{2}"},
};

template <class T>
void top_k(KernelContext& c) {
  const Tensor& x = c.in(0);
  int64_t k = int_at(c.in(1), 0);
  Shape shape = x.shape();
  int64_t width = shape.rank() ? shape[shape.rank() - 1] : 0;
  if (k < 0 || k > width) throw invalid_argument("TopKV2: k = {} does not fit rows of shape {}", k, shape);
  shape[shape.rank() - 1] = k;
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
    .doc = "The k largest elements of each row and where they are.",
    .inputs = {{"input", "T"}, {"k", "Tk"}},
    .outputs = {{"values", "T"}, {"indices", "index_type"}},
    .attrs = {{"sorted", "bool", "true"},
              {"T", kNumberTypes},
              {"Tk", kIndexTypes, "int32"},
              {"index_type", kIndexTypes, "int32"}},
    .shape =
        [](ShapeContext& c) {
          Shape shape = c.in(0);
          if (shape.known_rank() && shape.rank() > 0) {
            shape[shape.rank() - 1] = c.constant(1) ? int_at(*c.constant(1), 0) : -1;
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

constexpr const OpDef* kRows[] = {&kSoftmax, &kLogSoftmax, &kSoftmaxCrossEntropy,
                                  &kSparseSoftmaxCrossEntropy, &kInTopK, &kInTopKV2, &kTopKV2};

}  // namespace

OpFamily softmax_ops() { return kRows; }

}  // namespace capstan
