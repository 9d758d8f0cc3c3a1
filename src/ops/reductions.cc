// Reductions over axes, and the arguments of extremes.

#include <algorithm>
#include <limits>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/reduce.h"
#include "math/wrapping.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/reduce_axes.h"
#include "ops/types.h"

namespace capstan {
namespace {

using Kernel = void (*)(KernelContext&);

struct ReduceState {
  Kernel run;
  bool keep_dims;
};
void call_reduce(KernelContext& c) { c.state<ReduceState>().run(c); }

void reduce_shape(ShapeContext& c) {
  const Shape& x = c.in(0);
  bool keep = c.attr<bool>("keep_dims");
  const Tensor* axes = c.constant(1);
  if (x.known_rank() && axes)
    return c.out(0, reduced(x, axes_mask(c.node(), *axes, x.rank()), keep));
  // Without the axes only their number may be known: then so is the rank.
  if (keep && x.known_rank()) return c.out(0, Shape::unknown_of_rank(x.rank()));
  c.out(0, Shape::unknown());
}

// How elements of type T are joined: zero() is the neutral element.
template <class T>
struct AddUp {
  static constexpr Reduction kFast = Reduction::kSum;
  static T zero() { return T(0); }
  static T join(T a, T b) { return wrapping_add(a, b); }
};
template <class T>
struct Multiply {
  static constexpr Reduction kFast = Reduction::kProduct;
  static T zero() { return T(1); }
  static T join(T a, T b) { return wrapping_multiply(a, b); }
};
template <class T>
struct Largest {
  static constexpr Reduction kFast = Reduction::kMax;
  static T zero() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  // A NaN stays; of two zeros the later one does.
  static T join(T a, T b) { return a > b || a != a ? a : b; }
};
template <class T>
struct Smallest {
  static constexpr Reduction kFast = Reduction::kMin;
  static T zero() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  static T join(T a, T b) { return a < b || a != a ? a : b; }
};
template <class T>
struct Both {
  static T zero() { return true; }
  static T join(T a, T b) { return a && b; }
};
template <class T>
struct Either {
  static T zero() { return false; }
  static T join(T a, T b) { return a || b; }
};

// Eight sums side by side, joined in a fixed order: fast, exact enough, and the same for any number
// of threads.
template <class T, class Op>
T reduce_run(const T* in, int64_t n) {
  constexpr int kLanes = 8;
  if (n < kLanes) {
    T all = Op::zero();
    for (int64_t i = 0; i < n; ++i) all = Op::join(all, in[i]);
    return all;
  }
  T lanes[kLanes];
  std::fill_n(lanes, kLanes, Op::zero());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lanes[j] = Op::join(lanes[j], in[i + j]);
  }
  for (; i < n; ++i) lanes[i % kLanes] = Op::join(lanes[i % kLanes], in[i]);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] = Op::join(lanes[j], lanes[j + width]);
  }
  return lanes[0];
}

// Joins the last dimension of `in` where it is reduced, else joins whole rows.
template <class T, class Op>
void reduce_groups(const ReduceGroups& groups, const T* in, T* out, KernelContext& c) {
  if constexpr (std::is_floating_point_v<T>) {
    if (groups.is_rows()) {
      return reduce_rows(Op::kFast, in, out, groups.outputs, groups.inner, c.pool(), c.isa());
    }
    if (groups.is_columns()) {
      return reduce_columns(Op::kFast, in, out, groups.outer(), groups.inner, c.pool(), c.isa());
    }
  }
  std::fill_n(out, groups.outputs, Op::zero());
  groups.for_each_row([&](int64_t from, int64_t to) {
    if (groups.inner_reduced) {
      out[to] = Op::join(out[to], reduce_run<T, Op>(in + from, groups.inner));
    } else {
      for (int64_t j = 0; j < groups.inner; ++j) out[to + j] = Op::join(out[to + j], in[from + j]);
    }
  });
}

template <template <class> class Op, class T>
void reduce(KernelContext& c) {
  const Tensor& x = c.in(0);
  uint32_t mask = axes_mask(c.node(), c.in(1), x.shape().rank());
  Tensor& out = c.out(0, reduced(x.shape(), mask, c.state<ReduceState>().keep_dims));
  reduce_groups<T, Op<T>>(ReduceGroups(x.shape(), mask), x.data<T>(), out.data<T>(), c);
}

// Whole numbers are added up in 64 bits: the sum of small ones seldom fits their own type.
template <class T>
void whole_means(const ReduceGroups& groups, const T* in, T* out, int64_t count) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  std::vector<uint64_t> sums(
      size_t(groups.outputs));  // without a sign, where overflow wraps around
  groups.for_each_row([&](int64_t from, int64_t to) {
    for (int64_t j = 0; j < groups.inner; ++j) {
      sums[size_t(groups.inner_reduced ? to : to + j)] += uint64_t(Wide(in[from + j]));
    }
  });
  for (int64_t i = 0; i < groups.outputs; ++i) {
    out[i] = count ? T(Wide(sums[size_t(i)]) / Wide(count)) : T(0);
  }
}

template <class T>
void mean(KernelContext& c) {
  const Tensor& x = c.in(0);
  uint32_t mask = axes_mask(c.node(), c.in(1), x.shape().rank());
  Tensor& out = c.out(0, reduced(x.shape(), mask, c.state<ReduceState>().keep_dims));
  const ReduceGroups groups(x.shape(), mask);
  T* to = out.data<T>();
  int64_t count = out.size() ? x.size() / out.size() : 0;
  if constexpr (std::is_floating_point_v<T>) {
    reduce_groups<T, AddUp<T>>(groups, x.data<T>(), to, c);
    // An empty mean is 0/0, not a number.
    for (int64_t i = 0; i < out.size(); ++i) to[i] = to[i] / T(count);
  } else {
    whole_means(groups, x.data<T>(), to, count);
  }
}

std::shared_ptr<void> reduce_state(const Node& node, Kernel run) {
  return std::make_shared<ReduceState>(ReduceState{run, node.attrs().get<bool>("keep_dims")});
}

template <template <class> class Op>
std::shared_ptr<void> prepare_reduce(const Node& node) {
  return reduce_state(node, for_number(node, node.output_type(0), [](auto tag) -> Kernel {
                        return reduce<Op, typename decltype(tag)::type>;
                      }));
}

std::shared_ptr<void> prepare_mean(const Node& node) {
  return reduce_state(node, for_number(node, node.output_type(0), [](auto tag) -> Kernel {
                        return mean<typename decltype(tag)::type>;
                      }));
}

template <template <class> class Op>
std::shared_ptr<void> prepare_logic(const Node& node) {
  return reduce_state(node, reduce<Op, bool>);
}

// --- Gradients -----------------------------------------------------------------------------------

bool is_all_axes(const std::vector<int64_t>& axes, int rank) {
  if (int(axes.size()) != rank) return false;
  for (int i = 0; i < rank; ++i) {
    if (axes[size_t(i)] != i) return false;
  }
  return true;
}

// The gradient repeated: everything was summed to one number.
Output tiled_scalar(GradContext& g) {
  Graph& graph = g.graph();
  const Shape& shape = g.x(0).shape();
  Output dy = reshape(graph, g.dy(0), ints(std::vector<int64_t>(size_t(shape.rank()), 1)));
  Output multiples = shape.fully_defined() ? g.constant(ints(shape)) : shape_of(graph, g.x(0));
  return g.op("Tile", {dy, multiples});
}

// All shapes known. TensorFlow computes how often to repeat as nodes that nobody reads, the first
// time that a graph reduces this shape over these axes.
Output tiled_axes(GradContext& g, const std::vector<int64_t>& axes) {
  Graph& graph = g.graph();
  const Shape& shape = g.x(0).shape();
  Shape kept = kept_shape(shape, axes);
  if (graph.first_time(fmt::format("reduced {} {}", shape, ints(axes).text(Shape::kMaxRank)))) {
    Output divisor = node(graph, "Maximum", {ints(kept), number(DType::kInt32, 1)});
    node(graph, "FloorDiv", {ints(shape), divisor}, {}, "floordiv");
  }
  Shape multiples = shape;
  for (int i = 0; i < shape.rank(); ++i) multiples[i] = shape[i] / std::max<int64_t>(kept[i], 1);
  Output dy = reshape(graph, g.dy(0), ints(kept));
  return node(graph, "Tile", {dy, ints(multiples)});
}

Output sum_input_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Shape& shape = g.x(0).shape();
  std::optional<Tensor> known = constant_value(g.x(1));
  if (shape.known_rank() && known) {
    std::vector<int64_t> axes = as_ints(*known);
    if (known->shape().rank() == 1 && is_all_axes(axes, shape.rank())) return tiled_scalar(g);
    if (shape.fully_defined()) return tiled_axes(g, axes);
  }
  Output input_shape = shape_of(graph, g.x(0)), dy = g.dy(0);
  if (!g.attr<bool>("keep_dims")) {
    Arg kept = [&] {
      ScopeGuard together = graph.colocate_with(input_shape.node);
      return reduced_shape(graph, input_shape, g.x(1));
    }();
    dy = reshape(graph, dy, std::move(kept));
  }
  return broadcast_to(graph, dy, input_shape);
}

Values sum_gradient(GradContext& g) { return {sum_input_gradient(g), {}}; }

Values mean_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output sum = sum_input_gradient(g), factor;
  const Shape &from = g.x(0).shape(), &to = g.y(0).shape();
  if (from.fully_defined() && to.fully_defined()) {
    int64_t count = from.elements() / std::max<int64_t>(to.elements(), 1);
    factor = g.constant(number(sum.dtype(), double(count)));
  } else {
    Output input_shape = shape_of(graph, g.x(0));
    Output rank = size_of(graph, input_shape);
    Output axes = cast(graph, g.x(1), rank.dtype());
    axes = mod(graph, add(graph, axes, rank), rank);
    factor = reduce_prod(graph, gather(graph, input_shape, axes));
  }
  return {truediv(graph, sum, cast(graph, factor, sum.dtype())), {}};
}

// Shared by Max and Min: the elements that were chosen divide the gradient between them.
Values extreme_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output shape = shape_of(graph, g.x(0)), y = g.y(0), dy = g.dy(0);
  Arg kept =
      g.attr<bool>("keep_dims") ? Arg(shape_of(graph, y)) : reduced_shape(graph, shape, g.x(1));
  if (!g.attr<bool>("keep_dims")) {
    y = reshape(graph, y, kept);
    dy = reshape(graph, dy, kept);
  }
  Output chosen = cast(graph, g.op("Equal", {y, g.x(0)}), dy.dtype());
  Output count = reshape(graph, reduce_sum(graph, chosen, g.x(1)), kept);
  return {mul(graph, truediv(graph, chosen, count), dy), {}};
}

// Each element's gradient is the product of all others: of those before it times those behind it.
Values prod_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output shape = shape_of(graph, g.x(0));
  Output axes = reshape(graph, g.x(1), ints({-1})), dy = g.dy(0);
  if (!g.attr<bool>("keep_dims")) dy = reshape(graph, dy, reduced_shape(graph, shape, g.x(1)));
  dy = broadcast_to(graph, dy, shape);
  Output perm, reduced_count, other_count;
  {
    ScopeGuard device = graph.device("/cpu:0");
    Output rank = rank_of(graph, g.x(0));
    axes = cast(graph, axes, rank.dtype());
    Output reduced_axes = mod(graph, add(graph, axes, rank), rank);
    std::vector<Output> lists = {range(graph, rank), reduced_axes};
    Output other = graph.add_node("ListDiff", lists, {{"out_idx", DType::kInt32}}).output(0);
    std::vector<Arg> parts = {reduced_axes, other};
    perm = concat(graph, parts, number(DType::kInt32, 0));
    reduced_count = reduce_prod(graph, gather(graph, shape, reduced_axes));
    other_count = reduce_prod(graph, gather(graph, shape, other));
  }
  Output permuted = g.op("Transpose", {g.x(0), perm}, {}, "transpose");
  Output permuted_shape = shape_of(graph, permuted), matrix;
  {
    ScopeGuard scope = graph.name_scope("Reshape");
    std::string as_it_is = graph.current_scope() + "/";
    Output matrix_shape = g.op("Pack", {reduced_count, other_count}, {}, "shape");
    matrix = g.op("Reshape", {permuted, matrix_shape}, {}, as_it_is);
  }
  auto product = [&](bool reverse) {
    return node(graph, "Cumprod", {matrix, number(DType::kInt32, 0)},
                {{"exclusive", true}, {"reverse", reverse}});
  };
  Output before = product(false), behind = product(true);
  Output others = reshape(graph, mul(graph, before, behind), permuted_shape);
  Output inverse = g.op("InvertPermutation", {perm});
  Output gx = mul(graph, dy, g.op("Transpose", {others, inverse}, {}, "transpose"));
  return {reshape(graph, gx, shape), {}};
}

// --- Rows ----------------------------------------------------------------------------------------

using Prepare = std::shared_ptr<void> (*)(const Node&);
using Gradient = Values (*)(GradContext&);

constexpr OpDef reduction(std::string_view name, std::string_view doc, Prepare prepare,
                          Gradient gradient) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"input", "T"}, {"reduction_indices", "Tidx"}},
          .outputs = {{"output", "T"}},
          .attrs = {{"keep_dims", "bool", "false"},
                    {"T", kNumberTypes},
                    {"Tidx", kIndexTypes, "int32"}},
          .shape = reduce_shape,
          .kernel = call_reduce,
          .prepare = prepare,
          .gradient = gradient,
          .samples = {"float[2,3,4] int32[2]{0,2}", "float[2,3] int32[]{-1} keep_dims=true",
                      "float[2,3] int32[2]{0,1}", "float[2,3] int32[1]{0}"}};
}

constexpr OpDef logic(std::string_view name, std::string_view doc, Prepare prepare) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"input", "bool"}, {"reduction_indices", "Tidx"}},
          .outputs = {{"output", "bool"}},
          .attrs = {{"keep_dims", "bool", "false"}, {"Tidx", kIndexTypes, "int32"}},
          .shape = reduce_shape,
          .kernel = call_reduce,
          .prepare = prepare,
          .no_gradient = true,
          .samples = {"bool[2,2]{0,1,1,1} int32[1]{1}"}};
}

constexpr OpDef kSum = reduction("Sum", "The sum over axes.", prepare_reduce<AddUp>, sum_gradient);
constexpr OpDef kMean = reduction("Mean", "The mean over axes.", prepare_mean, mean_gradient);
constexpr OpDef kProd =
    reduction("Prod", "The product over axes.", prepare_reduce<Multiply>, prod_gradient);
constexpr OpDef kMax =
    reduction("Max", "The largest element over axes.", prepare_reduce<Largest>, extreme_gradient);
constexpr OpDef kMin =
    reduction("Min", "The smallest element over axes.", prepare_reduce<Smallest>, extreme_gradient);
constexpr OpDef kAll =
    logic("All", "Whether all elements over axes are true.", prepare_logic<Both>);
constexpr OpDef kAny =
    logic("Any", "Whether any element over axes is true.", prepare_logic<Either>);

// --- ArgMax, ArgMin, L2Loss ----------------------------------------------------------------------

// The first place of the best element along one axis. As in TensorFlow nothing but a number beats
// the type's worst one: a NaN is passed over, and so is an infinity of the wrong sign.
template <class T, bool kMax>
void arg_best(KernelContext& c) {
  const Tensor& x = c.in(0);
  int axis = resolve_axis(c.node(), int_at(c.in(1), 0), x.shape().rank());
  Tensor& out = c.out(0, reduced(x.shape(), 1u << axis, false));
  int64_t n = x.shape()[axis], inner = 1;
  if (n == 0) throw invalid_argument("{} over an empty axis of {}", c.node().op(), x.shape());
  for (int i = axis + 1; i < x.shape().rank(); ++i) inner *= x.shape()[i];
  for (int64_t o = 0; o < out.size(); ++o) {
    const T* in = x.data<T>() + o / inner * n * inner + o % inner;
    T value = kMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    int64_t best = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (!(kMax ? in[i * inner] > value : in[i * inner] < value)) continue;
      best = i, value = in[i * inner];
    }
    set_int(out, o, best);
  }
}

template <bool kMax>
std::shared_ptr<void> prepare_arg(const Node& node) {
  return std::make_shared<Kernel>(for_number(node, node.input(0).dtype(), [](auto tag) -> Kernel {
    return arg_best<typename decltype(tag)::type, kMax>;
  }));
}

void arg_shape(ShapeContext& c) {
  const Shape& x = c.in(0);
  if (!x.known_rank()) return c.out(0, Shape::unknown());
  const Tensor* axis = c.constant(1);
  if (!axis) return c.out(0, Shape::unknown_of_rank(x.rank() - 1));
  c.out(0, reduced(x, 1u << resolve_axis(c.node(), int_at(*axis, 0), x.rank()), false));
}

constexpr OpDef arg_row(std::string_view name, std::string_view doc, Prepare prepare) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"input", "T"}, {"dimension", "Tidx", 0}},
          .outputs = {{"output", "output_type"}},
          .attrs = {{"T", kNumberTypes},
                    {"Tidx", kIndexTypes, "int32"},
                    {"output_type", kIndexTypes, "int64"}},
          .shape = arg_shape,
          .kernel = [](KernelContext& c) { c.state<Kernel>()(c); },
          .prepare = prepare,
          .gradient = [](GradContext&) { return Values(2); },
          .samples = {"float[2,3] int32[]{1}", "float[2,3] int32[]{0} output_type=int32"}};
}

constexpr OpDef kArgMax =
    arg_row("ArgMax", "The first place of the largest element along an axis.", prepare_arg<true>);
constexpr OpDef kArgMin =
    arg_row("ArgMin", "The first place of the smallest element along an axis.", prepare_arg<false>);

template <class T>
void l2_loss(KernelContext& c) {
  const Tensor& x = c.in(0);
  const T* in = x.data<T>();
  // Squares of a block at a time, so that the sum keeps reduce_run's order and speed.
  constexpr int64_t kBlock = 512;
  T squares[kBlock], sum = 0;
  for (int64_t i = 0; i < x.size(); i += kBlock) {
    int64_t n = std::min(kBlock, x.size() - i);
    for (int64_t j = 0; j < n; ++j) squares[j] = in[i + j] * in[i + j];
    sum += reduce_run<T, AddUp<T>>(squares, n);
  }
  *c.out(0, Shape{}).template data<T>() = sum / 2;
}

constexpr OpDef kL2Loss = {
    .name = "L2Loss",
    .doc = "Half the sum of the squares of all elements.",
    .inputs = {{"t", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kRealTypes}},
    .shape = scalar_shape,
    .kernel = [](KernelContext& c) { c.state<Kernel>()(c); },
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_real(node, node.output_type(0), [](auto tag) -> Kernel {
        return l2_loss<typename decltype(tag)::type>;
      }));
    },
    .gradient = [](GradContext& g) -> Values { return {mul(g.graph(), g.x(0), g.dy(0))}; },
    .samples = {"float[2,3]"},
};

constexpr const OpDef* kRows[] = {&kSum, &kMean, &kProd,   &kMax,    &kMin,
                                  &kAll, &kAny,  &kArgMax, &kArgMin, &kL2Loss};

}  // namespace

OpFamily reductions_ops() { return kRows; }

}  // namespace capstan
