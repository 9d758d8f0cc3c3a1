// Sums, products, powers and extremes of two tensors with broadcasting, and AddN.

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernel/context.h"
#include "math/simd.h"
#include "math/wrapping.h"
#include "ops/binary_rows.h"
#include "ops/blocks.h"
#include "ops/families.h"
#include "ops/window.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/arithmetic.cc"
#include "hwy/foreach_target.h"
#include "math/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

struct Add {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::Add(a, b);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return wrapping_add(a, b);
  }
};

struct Sub {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::Sub(a, b);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return wrapping_subtract(a, b);
  }
};

struct Mul {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::Mul(a, b);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return wrapping_multiply(a, b);
  }
};

struct Maximum {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return a > b ? a : b;
  }
};

struct Minimum {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return a < b ? a : b;
  }
};

struct SquaredDifference {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    const V difference = hn::Sub(a, b);
    return hn::Mul(difference, difference);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    const T difference = Sub::one(a, b);
    return Mul::one(difference, difference);
  }
};

template <class T>
T whole_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0)
      throw invalid_argument("a whole number to the negative power {}: cast to a real type first",
                             int64_t{exponent});
  T product = 1;
  for (; exponent != 0; exponent = static_cast<T>(exponent / 2)) {
    if (exponent % 2 != 0) product = wrapping_multiply(product, base);
    base = wrapping_multiply(base, base);
  }
  return product;
}

struct Pow {
  static constexpr bool kScalar = true;
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return b == 2 ? a * a : std::pow(a, b);
    else
      return whole_power(a, b);
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

Values add_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  if (same_known_shapes(x, y, dy)) return {dy, dy};
  return pair(reduce_to_inputs(g.graph(), x, y, dy, dy));
}

Values sub_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  Output minus = neg(g.graph(), dy);
  if (same_known_shapes(x, y, dy)) return {dy, minus};
  return pair(reduce_to_inputs(g.graph(), x, y, dy, minus));
}

Values mul_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  bool plain = dy.dtype() == DType::kFloat || dy.dtype() == DType::kInt32;
  if (plain && same_known_shapes(x, y, dy)) {
    Output gx = g.op("Mul", {dy, y});
    return {gx, g.op("Mul", {dy, x})};
  }
  Output gx = g.op("Mul", {dy, y});
  Output gy = g.op("Mul", {x, dy});
  return pair(reduce_to_inputs(g.graph(), x, y, gx, gy));
}

Values pow_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  Output scaled = mul(graph, dy, y);
  Output less = sub(graph, y, number(y.dtype(), 1));
  Output gx = mul(graph, scaled, g.op("Pow", {x, less}));
  // There is no sensible logarithm of x <= 0: the gradient is zero there.
  Output mask = node(graph, "Greater", {x, number(x.dtype(), 0)});
  Output safe_x = g.op("Select", {mask, x, ones_like(graph, x)});
  Output log_x = g.op("Log", {safe_x});
  log_x = g.op("Select", {mask, log_x, zeros_like(graph, x)});
  Output gy = mul(graph, mul(graph, dy, g.y(0)), log_x);
  return pair(reduce_to_inputs(graph, x, y, gx, gy));
}

Values chosen(GradContext& g, std::string_view comparison) {
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  Output zeros = zeros_like(g.graph(), dy);
  Output mask = g.op(comparison, {x, y});
  Output gx = g.op("SelectV2", {mask, dy, zeros});
  Output gy = g.op("SelectV2", {mask, zeros, dy});
  return pair(reduce_to_inputs(g.graph(), x, y, gx, gy));
}

Values maximum_gradient(GradContext& g) { return chosen(g, "GreaterEqual"); }
Values minimum_gradient(GradContext& g) { return chosen(g, "LessEqual"); }

Values squared_difference_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output x = g.x(0), y = g.x(1), dy = g.dy(0), gx;
  {
    ScopeGuard after = after_grad(g);
    Output twice = g.op("Mul", {g.constant(number(dy.dtype(), 2), "scalar"), dy});
    gx = mul(graph, twice, sub(graph, x, y));
  }
  Output gy = neg(graph, gx);
  if (same_known_shapes(x, y, dy)) return {gx, gy};
  return pair(reduce_to_inputs(graph, x, y, gx, gy));
}

constexpr OpDef kAdd = binary("Add", "x + y, element by element.", kNumberTypes,
                              CAPSTAN_BLOCK(number_2, Add), add_gradient);
constexpr OpDef kAddV2 = binary("AddV2", "x + y, element by element.", kNumberTypes,
                                CAPSTAN_BLOCK(number_2, Add), add_gradient);
constexpr OpDef kSub = binary("Sub", "x - y, element by element.", kNumberTypes,
                              CAPSTAN_BLOCK(number_2, Sub), sub_gradient);
constexpr OpDef kMul = binary("Mul", "x * y, element by element.", kNumberTypes,
                              CAPSTAN_BLOCK(number_2, Mul), mul_gradient);
constexpr OpDef kMaximum = binary("Maximum", "The larger of x and y, element by element.",
                                  kNumberTypes, CAPSTAN_BLOCK(number_2, Maximum), maximum_gradient)
                               .in_python("maximum math.maximum");
constexpr OpDef kMinimum = binary("Minimum", "The smaller of x and y, element by element.",
                                  kNumberTypes, CAPSTAN_BLOCK(number_2, Minimum), minimum_gradient)
                               .in_python("minimum math.minimum");
constexpr OpDef kPow =
    binary("Pow", "x to the power y, element by element.", kSignedTypes,
           CAPSTAN_BLOCK(number_2, Pow), pow_gradient, {"float[2,3](0.5,2) float[3]"});
constexpr OpDef kSquaredDifference =
    binary("SquaredDifference", "(x - y) squared, element by element.",
           "type:float|double|int32|int64", CAPSTAN_BLOCK(number_2, SquaredDifference),
           squared_difference_gradient)
        .in_python("squared_difference math.squared_difference");

// Adds two at a time, tile by tile, so that the sum stays in the cache.
void add_all(KernelContext& c) {
  const Tensor& first = c.in(0);
  for (int i = 1; i < c.inputs(); ++i) {
    if (c.in(i).shape() != first.shape()) {
      throw invalid_argument(
          "AddN adds tensors of one shape, but input 0 has {} and input {} has {}", first.shape(),
          i, c.in(i).shape());
    }
  }
  Tensor& sum = c.out(0, first.shape());
  if (c.inputs() == 1) return copy_elements(sum.dtype(), sum.raw(), first.raw(), first.size());
  BlockFn add = add_block(first.dtype(), c.isa());
  constexpr int64_t kTile = 32768;
  size_t element = dtype_size(first.dtype());
  c.pool().parallel_for((first.size() + kTile - 1) / kTile, [&](int64_t tile) {
    size_t at = size_t(tile * kTile) * element;
    int64_t n = std::min(kTile, first.size() - tile * kTile);
    char* out = static_cast<char*>(sum.raw()) + at;
    const void* in[] = {static_cast<const char*>(first.raw()) + at, nullptr};
    for (int i = 1; i < c.inputs(); ++i, in[0] = out) {
      in[1] = static_cast<const char*>(c.in(i).raw()) + at;
      add(in, out, n);
    }
  });
}

std::shared_ptr<void> prepare_add_n(const Node& node) {
  if (!add_block(node.output_type(0), Isa::kBase)) no_kernel(node, node.output_type(0));
  return nullptr;
}

constexpr OpDef kAddN = {
    .name = "AddN",
    .doc = "The sum of N tensors of one shape.",
    .inputs = {{"inputs", "N*T"}},
    .outputs = {{"sum", "T"}},
    .attrs = {{"N", "int>=1"}, {"T", kNumberTypes}},
    .shape = equal_shapes,
    .kernel = add_all,
    .prepare = prepare_add_n,
    .gradient = [](GradContext& g) { return Values(g.node().inputs().size(), g.dy(0)); },
    .samples = {"float[2,3] float[2,3] float[2,3]"},
};

constexpr const OpDef* kRows[] = {
    &kAdd, &kAddV2, &kSub, &kMul, &kMaximum, &kMinimum, &kPow, &kSquaredDifference, &kAddN};

}  // namespace

BlockFn add_block(DType type, Isa isa) { return kAdd.block(type, isa); }

OpFamily arithmetic_ops() { return kRows; }

}  // namespace capstan
#endif
