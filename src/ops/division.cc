// Division of every kind, and what it leaves.

#include <cmath>

#include "base/error.h"
#include "math/simd.h"
#include "math/wrapping.h"
#include "ops/binary_rows.h"
#include "ops/families.h"
#include "ops/plain_block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/division.cc"
#include "hwy/foreach_target.h"
#include "math/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE void check_divisor(T b) {
  if (b == 0) throw invalid_argument("division of whole numbers by zero");
}

// The quotient of the lowest number and -1 wraps around like every other overflow.
template <class T>
HWY_INLINE T quotient(T a, T b) {
  check_divisor(b);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return wrapping_subtract(T(0), a);
  return static_cast<T>(a / b);
}

template <class T>
HWY_INLINE T remainder(T a, T b) {
  check_divisor(b);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

struct Div {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::Div(a, b);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return quotient(a, b);
  }
};

struct TruncateDiv {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::Trunc(hn::Div(a, b));
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return quotient(a, b);
  }
};

struct FloorDiv {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::Floor(hn::Div(a, b));
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    const T q = quotient(a, b);
    return remainder(a, b) != 0 && (a < 0) != (b < 0) ? static_cast<T>(q - 1) : q;
  }
};

struct TruncateMod {
  static constexpr bool kScalar = true;
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(a, b);
    else
      return remainder(a, b);
  }
};

struct FloorMod {
  static constexpr bool kScalar = true;
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    const T r = TruncateMod::one(a, b);
    return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

Values none(GradContext&) { return {{}, {}}; }

Values divided(GradContext& g, std::string_view name) {
  Output x = g.x(0), y = g.x(1);
  auto divide = [&](Output a, Output b) { return g.op("RealDiv", {a, b}, {}, name); };
  Output gx = divide(g.dy(0), y);
  Output quotient = divide(neg(g.graph(), x), y);
  Output gy = mul(g.graph(), g.dy(0), divide(quotient, y));
  return pair(reduce_to_inputs(g.graph(), x, y, gx, gy));
}

Values div_gradient(GradContext& g) { return divided(g, "truediv"); }
Values real_div_gradient(GradContext& g) { return divided(g, "RealDiv"); }

Values floor_mod_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1);
  Output whole = g.op("FloorDiv", {x, y});
  Output gy = mul(g.graph(), g.dy(0), neg(g.graph(), whole));
  return pair(reduce_to_inputs(g.graph(), x, y, g.dy(0), gy));
}

constexpr OpDef kDiv =
    binary("Div", "x / y; whole numbers are cut towards zero.", kNumberTypes,
           CAPSTAN_BLOCK(number_2, Div), div_gradient, {"float[2,3] float[3](0.5,2)"});
constexpr OpDef kRealDiv =
    binary("RealDiv", "x / y of real numbers.", kNumberTypes, CAPSTAN_BLOCK(number_2, Div),
           real_div_gradient, {"float[2,3] float[3](0.5,2)"})
        .in_python("realdiv");
constexpr OpDef kTruncateDiv =
    binary("TruncateDiv", "x / y, cut towards zero.", kNumberTypes,
           CAPSTAN_BLOCK(number_2, TruncateDiv), none, {"int32[2,3]{7,-7,8,-8,9,1} int32[]{3}"})
        .in_python("truncatediv");
constexpr OpDef kFloorDiv =
    binary("FloorDiv", "x / y, rounded down.", kNumberTypes, CAPSTAN_BLOCK(number_2, FloorDiv),
           none, {"float[2,3] float[3](0.5,2)", "int32[4]{7,-7,8,-8} int32[]{3}"})
        .in_python("floor_div");
constexpr OpDef kFloorMod =
    binary("FloorMod", "What FloorDiv leaves; it has the sign of y.", kNumberTypes,
           CAPSTAN_BLOCK(number_2, FloorMod), floor_mod_gradient,
           {"float[2,3](2.1,2.4) float[3](0.8,0.9)", "int32[3]{7,-7,8} int32[]{3}"});
constexpr OpDef kMod = binary("Mod", "What cutting division leaves; it has the sign of x.",
                              "type:int32|int64|float|double", CAPSTAN_BLOCK(number_2, TruncateMod),
                              nullptr, {"int32[3]{7,-7,8} int32[]{3}"});
// Zero where the divisor is.
struct DivNoNanFormula {
  template <class T>
  static T of(T x, T y) {
    return y == T(0) ? T(0) : x / y;
  }
};

Values div_no_nan_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1);
  auto divide = [&](Output a, Output b) { return g.op("DivNoNan", {a, b}, {}, "div_no_nan"); };
  Output gx = divide(g.dy(0), y);
  Output quotient = divide(neg(g.graph(), x), y);
  Output gy = mul(g.graph(), g.dy(0), divide(quotient, y));
  return pair(reduce_to_inputs(g.graph(), x, y, gx, gy));
}

constexpr OpDef kDivNoNan =
    binary("DivNoNan", "x / y, or 0 where y is 0.", kRealTypes, plain_binary_block<DivNoNanFormula>,
           div_no_nan_gradient, {"float[2,3] float[3](0.5,2)"})
        .in_python("div_no_nan");

constexpr const OpDef* kRows[] = {&kDiv,      &kRealDiv,  &kDivNoNan, &kTruncateDiv,
                                  &kFloorDiv, &kFloorMod, &kMod};

}  // namespace

OpFamily division_ops() { return kRows; }

}  // namespace capstan
#endif
