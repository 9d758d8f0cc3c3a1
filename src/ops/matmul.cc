// Matrix products and biases.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/gemm.h"
#include "math/reduce.h"
#include "math/wrapping.h"
#include "ops/blocks.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"

namespace capstan {
namespace {

struct MatMulState;
using Product = void (*)(KernelContext& c, const MatMulState& s, int64_t m, int64_t n, int64_t k,
                         const void* a, const void* b, void* out);

struct MatMulState {
  bool transpose_a, transpose_b;
  Product product;
};

void float_product(KernelContext& c, const MatMulState& s, int64_t m, int64_t n, int64_t k,
                   const void* a, const void* b, void* out) {
  sgemm(s.transpose_a, s.transpose_b, m, n, k, static_cast<const float*>(a), s.transpose_a ? m : k,
        static_cast<const float*>(b), s.transpose_b ? k : n, static_cast<float*>(out), n, false,
        c.pool(), c.isa());
}

void double_product(KernelContext& c, const MatMulState& s, int64_t m, int64_t n, int64_t k,
                    const void* a, const void* b, void* out) {
  dgemm(s.transpose_a, s.transpose_b, m, n, k, static_cast<const double*>(a), s.transpose_a ? m : k,
        static_cast<const double*>(b), s.transpose_b ? k : n, static_cast<double*>(out), n, false,
        c.pool(), c.isa());
}

// Whole numbers: plain loops, b's rows innermost.
template <class T>
void whole_product(KernelContext&, const MatMulState& s, int64_t m, int64_t n, int64_t k,
                   const void* a, const void* b, void* out) {
  auto x = static_cast<const T*>(a), y = static_cast<const T*>(b);
  auto z = static_cast<T*>(out);
  std::fill_n(z, m * n, T(0));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      T factor = s.transpose_a ? x[p * m + i] : x[i * k + p];
      for (int64_t j = 0; j < n; ++j)
        z[i * n + j] = wrapping_add(
            z[i * n + j], wrapping_multiply(factor, s.transpose_b ? y[j * k + p] : y[p * n + j]));
    }
  }
}

Product product_for(const Node& node) {
  switch (DType dtype = node.output_type(0)) {
    case DType::kFloat: return float_product;
    case DType::kDouble: return double_product;
    case DType::kInt32: return whole_product<int32_t>;
    case DType::kInt64: return whole_product<int64_t>;
    default: no_kernel(node, dtype);
  }
}

std::shared_ptr<void> prepare_product(const Node& node, std::string_view a, std::string_view b) {
  return std::make_shared<MatMulState>(
      MatMulState{node.attrs().get<bool>(a), node.attrs().get<bool>(b), product_for(node)});
}

[[noreturn]] void inner_clash(const Node& node, const Shape& a, const Shape& b) {
  throw invalid_argument("{} (node '{}'): the inner dimensions of {} and {} differ", node.op(),
                         node.name(), a, b);
}

void matmul_shape(ShapeContext& c) {
  Shape a = c.with_rank(0, 2), b = c.with_rank(1, 2);
  bool ta = c.attr<bool>("transpose_a"), tb = c.attr<bool>("transpose_b");
  int64_t ka = a[ta ? 0 : 1], kb = b[tb ? 1 : 0];
  if (ka >= 0 && kb >= 0 && ka != kb) inner_clash(c.node(), a, b);
  c.out(0, Shape{a[ta ? 1 : 0], b[tb ? 0 : 1]});
}

void matmul_kernel(KernelContext& c) {
  const auto& s = c.state<MatMulState>();
  const Shape &a = c.in(0).shape(), &b = c.in(1).shape();
  if (a.rank() != 2 || b.rank() != 2) {
    throw invalid_argument("MatMul multiplies matrices, but its inputs have shapes {} and {}", a,
                           b);
  }
  int64_t m = a[s.transpose_a], k = a[!s.transpose_a], n = b[!s.transpose_b];
  if (b[s.transpose_b] != k) inner_clash(c.node(), a, b);
  Tensor& out = c.out(0, Shape{m, n});
  s.product(c, s, m, n, k, c.in(0).raw(), c.in(1).raw(), out.raw());
}

Values matmul_gradient(GradContext& g) {
  bool ta = g.attr<bool>("transpose_a"), tb = g.attr<bool>("transpose_b");
  Output a = g.x(0), b = g.x(1), dy = g.dy(0);
  auto product = [&](Output l, Output r, bool tl, bool tr, std::string which) {
    return g.op("MatMul", {l, r},
                {{"transpose_a", tl}, {"transpose_b", tr}, {std::move(which), true}});
  };
  Output ga = ta ? product(b, dy, tb, true, "grad_a") : product(dy, b, false, !tb, "grad_a");
  Output gb = tb ? product(dy, a, true, ta, "grad_b") : product(a, dy, !ta, false, "grad_b");
  return {ga, gb};
}

constexpr OpDef kMatMul = {
    .name = "MatMul",
    .doc = "The product of two matrices, each transposed first if so asked.",
    .inputs = {{"a", "T"}, {"b", "T"}},
    .outputs = {{"product", "T"}},
    .attrs = {{"transpose_a", "bool", "false"},
              {"transpose_b", "bool", "false"},
              {"T", "type:float|double|int32|int64"},
              {"grad_a", "bool", "false"},
              {"grad_b", "bool", "false"}},
    .shape = matmul_shape,
    .kernel = matmul_kernel,
    .prepare = [](const Node& node) { return prepare_product(node, "transpose_a", "transpose_b"); },
    .gradient = matmul_gradient,
    .samples = {"float[2,3] float[3,4]", "float[3,2] float[3,4] transpose_a=true",
                "float[2,3] float[4,3] transpose_b=true",
                "float[3,2] float[4,3] transpose_a=true transpose_b=true"},
};

// --- Batches of matrices -------------------------------------------------------------------------

Shape batch_of(const Shape& shape) {
  return Shape(std::span(shape.dims().data(), size_t(shape.rank() - 2)));
}

Shape batch_product_shape(const Node& node, const Shape& x, const Shape& y, bool ax, bool ay) {
  int rx = x.rank(), ry = y.rank();
  if (rx < 2 || ry < 2) {
    throw invalid_argument(
        "{} (node '{}') multiplies matrices, but its inputs have shapes {} and {}", node.op(),
        node.name(), x, y);
  }
  int64_t kx = x[ax ? rx - 2 : rx - 1], ky = y[ay ? ry - 1 : ry - 2];
  if (kx >= 0 && ky >= 0 && kx != ky) inner_clash(node, x, y);
  Shape out = broadcast(batch_of(x), batch_of(y));
  out.push_back(x[ax ? rx - 1 : rx - 2]);
  out.push_back(y[ay ? ry - 2 : ry - 1]);
  return out;
}

void batch_matmul_shape(ShapeContext& c) {
  if (!c.in(0).known_rank() || !c.in(1).known_rank()) return c.out(0, Shape::unknown());
  c.out(0, batch_product_shape(c.node(), c.in(0), c.in(1), c.attr<bool>("adj_x"),
                               c.attr<bool>("adj_y")));
}

void batch_matmul_kernel(KernelContext& c) {
  const auto& s = c.state<MatMulState>();
  const Tensor &x = c.in(0), &y = c.in(1);
  Shape shape = batch_product_shape(c.node(), x.shape(), y.shape(), s.transpose_a, s.transpose_b);
  Tensor& out = c.out(0, shape);
  int rx = x.shape().rank();
  int64_t m = shape[shape.rank() - 2], n = shape[shape.rank() - 1];
  int64_t k = x.shape()[s.transpose_a ? rx - 2 : rx - 1];
  size_t size = dtype_size(out.dtype());
  Shape batch = batch_of(shape), bx = batch_of(x.shape()), by = batch_of(y.shape());
  BroadcastWalk<2> walk(batch, {&bx, &by});
  for (int64_t i = 0; i < batch.elements(); ++i, walk.next()) {
    s.product(c, s, m, n, k, static_cast<const char*>(x.raw()) + size_t(walk.at(0) * m * k) * size,
              static_cast<const char*>(y.raw()) + size_t(walk.at(1) * k * n) * size,
              static_cast<char*>(out.raw()) + size_t(i * m * n) * size);
  }
}

Values batch_matmul_gradient(GradContext& g) {
  Graph& graph = g.graph();
  bool ax = g.attr<bool>("adj_x"), ay = g.attr<bool>("adj_y");
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  auto product = [&](Output l, Output r, bool al, bool ar, std::string which) {
    return g.op("BatchMatMulV2", {l, r}, {{"adj_x", al}, {"adj_y", ar}, {std::move(which), true}},
                "MatMul");
  };
  Output gx = ax ? product(y, dy, ay, true, "grad_x") : product(dy, y, false, !ay, "grad_x");
  Output gy = ay ? product(dy, x, true, ax, "grad_y") : product(x, dy, !ax, false, "grad_y");
  const Shape &sx = x.shape(), &sy = y.shape();
  if (sx.known_rank() && sy.known_rank()) {
    Shape bx = batch_of(sx), by = batch_of(sy);
    bool no_batch = bx.rank() == 0 && by.rank() == 0;
    if (no_batch || (bx.fully_defined() && bx == by)) return {gx, gy};
  }
  Output x_shape = shape_of(graph, x), y_shape = shape_of(graph, y);
  Output bx = slice_vector(graph, x_shape, {}, -2), by = slice_vector(graph, y_shape, {}, -2);
  std::vector<Output> batches = {bx, by};
  Node& args = graph.add_node("BroadcastGradientArgs", batches);
  gx = reshape(graph, reduce_sum(graph, gx, args.output(0)), x_shape);
  gy = reshape(graph, reduce_sum(graph, gy, args.output(1)), y_shape);
  return {gx, gy};
}

constexpr OpDef kBatchMatMulV2 = {
    .name = "BatchMatMulV2",
    .doc = "Products of the matrices in the last two dimensions; the dimensions before broadcast.",
    .inputs = {{"x", "T"}, {"y", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", "type:float|double|int32|int64"},
              {"adj_x", "bool", "false"},
              {"adj_y", "bool", "false"},
              {"grad_x", "bool", "false"},
              {"grad_y", "bool", "false"}},
    .shape = batch_matmul_shape,
    .kernel = batch_matmul_kernel,
    .prepare = [](const Node& node) { return prepare_product(node, "adj_x", "adj_y"); },
    .gradient = batch_matmul_gradient,
    .samples = {"float[2,2,3] float[2,3,4]", "float[2,2,3] float[3,4]",
                "float[2,3,2] float[2,4,3] adj_x=true adj_y=true"},
};

// --- BiasAdd -------------------------------------------------------------------------------------

struct BiasState {
  bool channels_first;
  void (*run)(KernelContext&);
};

// value is [outer, channels, inner]; inner is 1 when the channels come last.
struct BiasDims {
  int64_t outer = 1, channels = 1, inner = 1;
};

// Channels that come first have something behind them.
int least_rank(bool channels_first) { return channels_first ? 3 : 2; }

BiasDims bias_dims(const Node& node, const Shape& value, bool channels_first) {
  if (value.rank() < least_rank(channels_first)) {
    throw invalid_argument("{} (node '{}') needs a value of {} or more dimensions, not {}",
                           node.op(), node.name(), least_rank(channels_first), value);
  }
  int axis = channels_first ? 1 : value.rank() - 1;
  BiasDims dims{.channels = value[axis]};
  for (int i = 0; i < axis; ++i) dims.outer *= value[i];
  for (int i = axis + 1; i < value.rank(); ++i) dims.inner *= value[i];
  return dims;
}

// Calls f(first row, rows) for groups of rows that are worth a thread each.
template <class F>
void for_row_groups(ThreadPool& pool, int64_t rows, int64_t width, F&& f) {
  constexpr int64_t kGroupElements = 32768;
  int64_t per_group = std::max<int64_t>(1, kGroupElements / std::max<int64_t>(width, 1));
  int64_t groups = (rows + per_group - 1) / per_group;
  if (groups <= 1) return f(int64_t(0), rows);
  pool.parallel_for(groups, [&](int64_t group) {
    int64_t first = group * per_group;
    f(first, std::min(per_group, rows - first));
  });
}

template <class T>
void bias_add(KernelContext& c) {
  const Tensor &value = c.in(0), &bias = c.in(1);
  BiasDims d = bias_dims(c.node(), value.shape(), c.state<BiasState>().channels_first);
  if (bias.size() != d.channels) {
    throw invalid_argument(
        "BiasAdd: the bias has {} elements, but the value of shape {} has {} channels", bias.size(),
        value.shape(), d.channels);
  }
  Tensor& out = c.out(0, value.shape());
  const T *from = value.data<T>(), *b = bias.data<T>();
  T* to = out.data<T>();
  if (d.inner != 1) {
    for (int64_t r = 0; r < d.outer * d.channels; ++r, from += d.inner, to += d.inner) {
      for (int64_t j = 0; j < d.inner; ++j) to[j] = wrapping_add(from[j], b[r % d.channels]);
    }
    return;
  }
  if (d.channels < 16) {  // too short for vectors
    for (int64_t r = 0; r < d.outer; ++r, from += d.channels, to += d.channels) {
      for (int64_t j = 0; j < d.channels; ++j) to[j] = wrapping_add(from[j], b[j]);
    }
    return;
  }
  BlockFn add = add_block(DTypeOf<T>::value, c.isa());
  for_row_groups(c.pool(), d.outer, d.channels, [&](int64_t first, int64_t rows) {
    for (int64_t r = first; r < first + rows; ++r) {
      const void* in[] = {from + r * d.channels, b};
      add(in, to + r * d.channels, d.channels);
    }
  });
}

template <class T>
void bias_add_grad(KernelContext& c) {
  const Tensor& dy = c.in(0);
  BiasDims d = bias_dims(c.node(), dy.shape(), c.state<BiasState>().channels_first);
  Tensor& out = c.out(0, Shape{d.channels});
  T* sum = out.data<T>();
  const T* from = dy.data<T>();
  if constexpr (std::is_floating_point_v<T>) {
    if (d.inner == 1) {
      return reduce_columns(Reduction::kSum, from, sum, d.outer, d.channels, c.pool(), c.isa());
    }
  }
  std::fill_n(sum, d.channels, T(0));
  if (d.inner == 1) {
    BlockFn add = add_block(DTypeOf<T>::value, c.isa());
    for (int64_t r = 0; r < d.outer; ++r) {
      const void* in[] = {sum, from + r * d.channels};
      add(in, sum, d.channels);
    }
    return;
  }
  for (int64_t r = 0; r < d.outer * d.channels; ++r, from += d.inner) {
    T row = 0;
    for (int64_t j = 0; j < d.inner; ++j) row = wrapping_add(row, from[j]);
    sum[r % d.channels] = wrapping_add(sum[r % d.channels], row);
  }
}

bool channels_first(const Node& node) {
  return node.attrs().get<std::string>("data_format") == "NCHW";
}

void bias_add_shape(ShapeContext& c) {
  Shape bias = c.with_rank(1, 1);
  Shape value = c.with_rank_of_at_least(0, least_rank(channels_first(c.node())));
  if (value.known_rank()) {
    int axis = channels_first(c.node()) ? 1 : value.rank() - 1;
    Shape channels = Shape{value[axis]};
    if (!channels.compatible_with(bias)) {
      throw invalid_argument("BiasAdd: the bias {} does not fit the channels of the value {}", bias,
                             value);
    }
    if (value[axis] < 0) value[axis] = bias[0];
  }
  c.out(0, value);
}

void bias_add_grad_shape(ShapeContext& c) {
  const Shape dy = c.with_rank_of_at_least(0, least_rank(channels_first(c.node())));
  if (!dy.known_rank()) return c.out(0, Shape{-1});
  c.out(0, Shape{dy[channels_first(c.node()) ? 1 : dy.rank() - 1]});
}

Values bias_add_gradient(GradContext& g) {
  return {g.dy(0),
          g.op("BiasAddGrad", {g.dy(0)}, {{"data_format", g.attr<std::string>("data_format")}})};
}

Values bias_add_grad_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output shape = shape_of(graph, g.x(0)), bias_shape = shape_of(graph, g.dy(0));
  Output expanded_shape, multiples;
  auto joined = [&](std::vector<Arg> parts) {
    return concat(graph, parts, number(DType::kInt32, 0));
  };
  if (channels_first(g.node())) {
    Output before = ones_like(graph, slice_vector(graph, shape, {}, 1));
    expanded_shape =
        joined({before, bias_shape, ones_like(graph, slice_vector(graph, shape, 2, {}))});
    before = slice_vector(graph, shape, {}, 1);
    multiples = joined({before, ints({1}), slice_vector(graph, shape, 2, {})});
  } else {
    expanded_shape = joined({ones_like(graph, slice_vector(graph, shape, {}, -1)), bias_shape});
    multiples = joined({slice_vector(graph, shape, {}, -1), ints({1})});
  }
  return {g.op("Tile", {reshape(graph, g.dy(0), expanded_shape), multiples})};
}

constexpr AttrDef kDataFormat = {"data_format", "string:NHWC|NCHW", "'NHWC'"};

constexpr OpDef kBiasAdd = {
    .name = "BiasAdd",
    .doc = "Adds a vector along the dimension of the channels.",
    .inputs = {{"value", "T"}, {"bias", "T", 1}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kNumberTypes}, kDataFormat},
    .shape = bias_add_shape,
    .kernel = [](KernelContext& c) { c.state<BiasState>().run(c); },
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<BiasState>(
          BiasState{channels_first(node),
                    for_number(node, node.output_type(0), [](auto tag) -> void (*)(KernelContext&) {
                      return bias_add<typename decltype(tag)::type>;
                    })});
    },
    .gradient = bias_add_gradient,
    .samples = {"float[2,3] float[3]", "float[2,3,4] float[3] data_format=NCHW"},
};

constexpr OpDef kBiasAddGrad = {
    .name = "BiasAddGrad",
    .doc = "The sum over all dimensions but that of the channels.",
    .inputs = {{"out_backprop", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kNumberTypes}, kDataFormat},
    .shape = bias_add_grad_shape,
    .kernel = [](KernelContext& c) { c.state<BiasState>().run(c); },
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<BiasState>(
          BiasState{channels_first(node),
                    for_number(node, node.output_type(0), [](auto tag) -> void (*)(KernelContext&) {
                      return bias_add_grad<typename decltype(tag)::type>;
                    })});
    },
    .gradient = bias_add_grad_gradient,
    .samples = {"float[2,3]", "float[2,3,4] data_format=NCHW"},
};

constexpr const OpDef* kRows[] = {&kMatMul, &kBatchMatMulV2, &kBiasAdd, &kBiasAddGrad};

}  // namespace

OpFamily matmul_ops() { return kRows; }

}  // namespace capstan
