// Ops that make tensors out of a few numbers, and broadcasting as ops of its own.

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"
#include "ops/window.h"

namespace capstan {
namespace {

using Kernel = void (*)(KernelContext&);
void call_state(KernelContext& c) { c.state<Kernel>()(c); }

Shape shape_or_unknown(ShapeContext& c, int input) {
  if (std::optional<Shape> shape = c.in_as_shape(input)) return *shape;
  const Shape& vector = c.in(input);
  bool rank_known = vector.known_rank() && vector.rank() == 1 && vector[0] >= 0;
  return rank_known ? Shape::unknown_of_rank(int(vector[0])) : Shape::unknown();
}

// --- Fill, ZerosLike, OnesLike -------------------------------------------------------------------

template <class T>
void fill(KernelContext& c) {
  Tensor& out = c.out(0, shape_from(c.in(0)));
  std::fill_n(out.data<T>(), out.size(), c.scalar<T>(1));
}

std::shared_ptr<void> prepare_fill(const Node& node) {
  return std::make_shared<Kernel>(for_size(node, node.output_type(0), [](auto tag) -> Kernel {
    return fill<typename decltype(tag)::type>;
  }));
}

constexpr OpDef kFill = {
    .name = "Fill",
    .doc = "A tensor of shape `dims` with `value` everywhere.",
    .inputs = {{"dims", "index_type", 1}, {"value", "T", 0}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"index_type", kIndexTypes, "int32"}},
    .shape = [](ShapeContext& c) { c.out(0, shape_or_unknown(c, 0)); },
    .kernel = call_state,
    .prepare = prepare_fill,
    .gradient = [](GradContext& g) -> Values {
      return {{}, reduce_sum(g.graph(), g.dy(0))};
    },
    .foretold = true,
    .samples = {"int32[2]{2,3} float[]", "int32[1]{2} string[]{a}"},
};

template <class T>
void ones_like_kernel(KernelContext& c) {
  Tensor& out = c.out(0, c.in(0).shape());
  std::fill_n(out.data<T>(), out.size(), T(1));
}

void zeros_like_kernel(KernelContext& c) { fill_zero(c.out(0, c.in(0).shape())); }

constexpr OpDef kZerosLike = {
    .name = "ZerosLike",
    .doc = "Zeros in the shape of x.",
    .inputs = {{"x", "T"}},
    .outputs = {{"y", "T"}},
    .attrs = {{"T", kAnyType}},
    .shape = same_shape,
    .kernel = zeros_like_kernel,
    .no_gradient = true,
    .samples = {"float[2,3]"},
};

constexpr OpDef kOnesLike = {
    .name = "OnesLike",
    .doc = "Ones in the shape of x.",
    .inputs = {{"x", "T"}},
    .outputs = {{"y", "T"}},
    .attrs = {{"T", "type:float|double|int8|uint8|int16|uint16|int32|uint32|int64|uint64|bool"}},
    .shape = same_shape,
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      if (node.output_type(0) == DType::kBool)
        return std::make_shared<Kernel>(ones_like_kernel<bool>);
      return std::make_shared<Kernel>(for_number(node, node.output_type(0), [](auto tag) -> Kernel {
        return ones_like_kernel<typename decltype(tag)::type>;
      }));
    },
    .no_gradient = true,
    .samples = {"float[2,3]"},
};

// --- Range and LinSpace --------------------------------------------------------------------------

template <class T>
int64_t range_size(T start, T limit, T delta) {
  if (delta == T(0)) throw invalid_argument("Range needs a delta that is not 0");
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(start) || std::isnan(limit) || std::isnan(delta)) {
      throw invalid_argument("Range needs numbers, but goes from {} to {} in steps of {}", start,
                             limit, delta);
    }
  }
  if (delta > T(0) ? start > limit : start < limit) {
    throw invalid_argument("Range cannot reach limit {} from {} in steps of {}", limit, start,
                           delta);
  }
  if constexpr (std::is_integral_v<T>) {
    // Without a sign: the span of int64's extremes fits into 64 bits only so.
    const bool up = delta > T(0);
    const uint64_t from = uint64_t(up ? start : limit), to = uint64_t(up ? limit : start);
    const uint64_t span = to - from, step = up ? uint64_t(delta) : 0 - uint64_t(delta);
    const uint64_t size = span / step + (span % step != 0);
    if (size <= uint64_t(std::numeric_limits<int64_t>::max())) return int64_t(size);
  } else {
    const double size = std::ceil(std::abs((double(limit) - double(start)) / double(delta)));
    if (size < 0x1p63) return int64_t(size);
  }
  throw invalid_argument("Range from {} to {} in steps of {} has more elements than 2^63 - 1",
                         start, limit, delta);
}

template <class T>
void range_kernel(KernelContext& c) {
  const T start = c.scalar<T>(0), limit = c.scalar<T>(1), delta = c.scalar<T>(2);
  Tensor& out = c.out(0, Shape{range_size(start, limit, delta)});
  for (int64_t i = 0; i < out.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      out.data<T>()[i] = T(uint64_t(start) + uint64_t(i) * uint64_t(delta));
    } else {
      out.data<T>()[i] = start + T(i) * delta;
    }
  }
}

void range_shape(ShapeContext& c) {
  const Tensor *start = c.constant(0), *limit = c.constant(1), *delta = c.constant(2);
  if (!start || !limit || !delta) return c.out(0, Shape{-1});
  int64_t size = for_number(c.node(), start->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return range_size(*start->data<T>(), *limit->data<T>(), *delta->data<T>());
  });
  c.out(0, Shape{size});
}

constexpr OpDef kRange = {
    .name = "Range",
    .doc = "start, start + delta, ... up to but without limit.",
    .inputs = {{"start", "Tidx", 0}, {"limit", "Tidx", 0}, {"delta", "Tidx", 0}},
    .outputs = {{"output", "Tidx"}},
    .attrs = {{"Tidx", "type:float|double|int8|int16|int32|int64|uint16|uint32|uint64", "int32"}},
    .shape = range_shape,
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_number(node, node.output_type(0), [](auto tag) -> Kernel {
        return range_kernel<typename decltype(tag)::type>;
      }));
    },
    .no_gradient = true,
    .foretold = true,
    .samples = {"int32[]{3} int32[]{18} int32[]{4}", "float[]{1} float[]{0} float[]{-0.25}"},
};

template <class T>
void lin_space_kernel(KernelContext& c) {
  int64_t n = int_at(c.in(2), 0);
  if (n < 1) throw invalid_argument("LinSpace needs at least one number, not {}", n);
  const T start = c.scalar<T>(0), stop = c.scalar<T>(1);
  Tensor& out = c.out(0, Shape{n});
  T step = n > 1 ? (stop - start) / T(n - 1) : T(0);
  for (int64_t i = 0; i < n; ++i)
    out.data<T>()[i] = i == n - 1 && n > 1 ? stop : start + step * T(i);
}

constexpr OpDef kLinSpace = {
    .name = "LinSpace",
    .python = "lin_space linspace",
    .doc = "`num` numbers at equal distances from start to stop.",
    .inputs = {{"start", "T", 0}, {"stop", "T", 0}, {"num", "Tidx", 0}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kRealTypes}, {"Tidx", kIndexTypes, "int32"}},
    .shape =
        [](ShapeContext& c) { c.out(0, Shape{c.constant(2) ? int_at(*c.constant(2), 0) : -1}); },
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_real(node, node.output_type(0), [](auto tag) -> Kernel {
        return lin_space_kernel<typename decltype(tag)::type>;
      }));
    },
    .no_gradient = true,
    .samples = {"float[]{1} float[]{3} int32[]{5}"},
};

// --- OneHot --------------------------------------------------------------------------------------

// Where the new axis is put in; -1 stands for the end.
int one_hot_axis(const Node& node, const Shape& indices, int64_t axis) {
  if (axis < -1) {
    throw invalid_argument("OneHot (node '{}'): axis {} is neither -1 nor in [0, {}]", node.name(),
                           axis, indices.rank());
  }
  return axis == -1 ? indices.rank() : resolve_axis(node, axis, indices.rank() + 1);
}

Shape one_hot_shape(const Shape& indices, int at, int64_t depth) {
  Shape out;
  for (int i = 0; i <= indices.rank(); ++i) {
    if (i == at) out.push_back(depth);
    if (i < indices.rank()) out.push_back(indices[i]);
  }
  return out;
}

int64_t index_value(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kUInt8: return t.data<uint8_t>()[i];
    case DType::kInt8: return t.data<int8_t>()[i];
    default: return int_at(t, i);
  }
}

struct OneHotState {
  Kernel run;
  int64_t axis;
};

template <class T>
void one_hot_kernel(KernelContext& c) {
  const Tensor& indices = c.in(0);
  const int64_t depth = int_at(c.in(1), 0);
  const int at = one_hot_axis(c.node(), indices.shape(), c.state<OneHotState>().axis);
  if (depth < 0) throw invalid_argument("OneHot needs a depth that is not negative, got {}", depth);
  const T &on = c.scalar<T>(2), &off = c.scalar<T>(3);
  Tensor& out = c.out(0, one_hot_shape(indices.shape(), at, depth));
  std::fill_n(out.data<T>(), out.size(), off);
  // The new axis cuts the indices into what lies before it and what lies behind.
  int64_t inner = 1;
  for (int i = at; i < indices.shape().rank(); ++i) inner *= indices.shape()[i];
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t hot = index_value(indices, i);
    if (hot < 0 || hot >= depth) continue;
    out.data<T>()[(i / inner * depth + hot) * inner + i % inner] = on;
  }
}

constexpr OpDef kOneHot = {
    .name = "OneHot",
    .doc = "on_value at the places that the indices name along a new axis, off_value elsewhere.",
    .inputs = {{"indices", "TI"},
               {"depth", "int32", 0},
               {"on_value", "T", 0},
               {"off_value", "T", 0}},
    .outputs = {{"output", "T"}},
    .attrs = {{"axis", "int", "-1"},
              {"T", kAnyType},
              {"TI", "type:uint8|int8|int32|int64", "int64"}},
    .shape =
        [](ShapeContext& c) {
          if (!c.in(0).known_rank()) return c.out(0, Shape::unknown());
          int64_t depth = c.constant(1) ? int_at(*c.constant(1), 0) : -1;
          const int at = one_hot_axis(c.node(), c.in(0), c.attr<int64_t>("axis"));
          c.out(0, one_hot_shape(c.in(0), at, depth));
        },
    .kernel = [](KernelContext& c) { c.state<OneHotState>().run(c); },
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      Kernel run = for_size(node, node.output_type(0), [](auto tag) -> Kernel {
        return one_hot_kernel<typename decltype(tag)::type>;
      });
      return std::make_shared<OneHotState>(OneHotState{run, node.attrs().get<int64_t>("axis")});
    },
    .no_gradient = true,
    .samples = {"int32[2,2]{0,2,-1,1} int32[]{3} float[]{1} float[]{0}",
                "int64[2]{0,2} int32[]{3} float[]{1} float[]{0} axis=0"},
};

// --- Broadcasting --------------------------------------------------------------------------------

template <class T>
void broadcast_to_kernel(KernelContext& c) {
  const Tensor& x = c.in(0);
  Shape shape = shape_from(c.in(1));
  if (x.shape().rank() > shape.rank() || broadcast(x.shape(), shape) != shape) {
    throw invalid_argument("a tensor of shape {} cannot be broadcast to {}", x.shape(), shape);
  }
  Tensor& out = c.out(0, shape);
  T* to = out.data<T>();
  if (x.size() == 1) {
    std::fill_n(to, out.size(), *x.data<T>());
  } else if (x.size() == out.size()) {
    std::copy_n(x.data<T>(), x.size(), to);
  } else {
    BroadcastWalk<1> walk(shape, {&x.shape()});
    for (int64_t i = 0; i < out.size(); ++i, walk.next()) to[i] = x.data<T>()[walk.at(0)];
  }
}

Values broadcast_to_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output shape = g.x(1);
  Output x_shape = shape_of(graph, g.x(0), shape.dtype());
  if (std::optional<Tensor> known = constant_value(shape)) shape = g.constant(*known);
  std::vector<Output> shapes = {shape, x_shape};
  Node& args = graph.add_node("BroadcastGradientArgs", shapes);
  Output sum = reduce_sum(graph, g.dy(0), args.output(1), true);
  return {reshape(graph, sum, x_shape), {}};
}

constexpr OpDef kBroadcastTo = {
    .name = "BroadcastTo",
    .python = "broadcast_to",
    .doc = "The input repeated along dimensions until it has this shape.",
    .inputs = {{"input", "T"}, {"shape", "Tidx", 1}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"Tidx", kIndexTypes, "int32"}},
    .shape = [](ShapeContext& c) { c.out(0, shape_or_unknown(c, 1)); },
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_size(node, node.output_type(0), [](auto tag) -> Kernel {
        return broadcast_to_kernel<typename decltype(tag)::type>;
      }));
    },
    .gradient = broadcast_to_gradient,
    .samples = {"float[3,1] int32[3]{2,3,2}", "float[] int32[1]{3}"},
};

// Axes of the broadcast shape over which the gradient of each operand is summed.
void broadcast_gradient_args_kernel(KernelContext& c) {
  if (c.in(0).equals(c.in(1))) {
    c.out(0, Shape{0}), c.out(1, Shape{0});
    return;
  }
  Shape s[2] = {shape_from(c.in(0)), shape_from(c.in(1))};
  broadcast(s[0], s[1]);
  int rank = std::max(s[0].rank(), s[1].rank());
  int64_t axes[2][Shape::kMaxRank], counts[2] = {0, 0};
  for (int axis = 0; axis < rank; ++axis) {
    int64_t dims[2];
    for (int k = 0; k < 2; ++k) {
      int i = axis - (rank - s[k].rank());
      dims[k] = i < 0 ? 1 : s[k][i];
    }
    // Where both are 1 the sum is over one element; TensorFlow names the axis for both.
    if (dims[0] == 1) axes[0][counts[0]++] = axis;
    if (dims[1] == 1) axes[1][counts[1]++] = axis;
  }
  for (int k = 0; k < 2; ++k) {
    Tensor& out = c.out(k, Shape{counts[k]});
    for (int64_t i = 0; i < counts[k]; ++i) set_int(out, i, axes[k][i]);
  }
}

constexpr OpDef kBroadcastGradientArgs = {
    .name = "BroadcastGradientArgs",
    .doc = "Over which axes the gradients of two operands that were broadcast have to be summed.",
    .inputs = {{"s0", "T", 1}, {"s1", "T", 1}},
    .outputs = {{"r0", "T"}, {"r1", "T"}},
    .attrs = {{"T", kIndexTypes, "int32"}},
    .shape = [](ShapeContext& c) { c.out(0, Shape{-1}), c.out(1, Shape{-1}); },
    .kernel = broadcast_gradient_args_kernel,
    .no_gradient = true,
    .samples = {"int32[3]{2,3,1} int32[1]{4}"},
};

constexpr const OpDef* kRows[] = {&kFill,     &kZerosLike, &kOnesLike,    &kRange,
                                  &kLinSpace, &kOneHot,    &kBroadcastTo, &kBroadcastGradientArgs};

}  // namespace

OpFamily fill_ops() { return kRows; }

}  // namespace capstan
