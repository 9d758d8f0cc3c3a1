// Arithmetic of two operands.

#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernel/blocks.h"
#include "kernel/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/blocks_arith.cc"
#include "hwy/foreach_target.h"
#include "kernel/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

// Whole numbers are joined without a sign, where overflow is defined to wrap around.
template <class T>
using Wrap = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

struct Add {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::Add(a, b);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return static_cast<T>(Wrap<T>(a) + Wrap<T>(b));
  }
};

struct Sub {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::Sub(a, b);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return static_cast<T>(Wrap<T>(a) - Wrap<T>(b));
  }
};

struct Mul {
  template <class D, class V>
  static HWY_INLINE V many(D, V a, V b) {
    return hn::Mul(a, b);
  }
  template <class T>
  static HWY_INLINE T one(T a, T b) {
    return static_cast<T>(Wrap<T>(a) * Wrap<T>(b));
  }
};

template <class T>
HWY_INLINE void check_divisor(T b) {
  if (b == 0) throw invalid_argument("division of whole numbers by zero");
}

// The quotient of the lowest number and -1 wraps around like every other overflow.
template <class T>
HWY_INLINE T quotient(T a, T b) {
  check_divisor(b);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
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
    if (exponent % 2 != 0) product = Mul::one(product, base);
    base = Mul::one(base, base);
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

constexpr BlockFn (*kFind[])(DType) = {
    number_2<Add>,      number_2<Sub>,      number_2<Mul>,         number_2<Div>,
    number_2<FloorDiv>, number_2<FloorMod>, number_2<TruncateDiv>, number_2<TruncateMod>,
    number_2<Maximum>,  number_2<Minimum>,  number_2<Pow>,         number_2<SquaredDifference>,
};

}  // namespace

BlockFn find_arith(int op, DType type) { return kFind[op](type); }

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

// In the order of kFind.
enum {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kFloorMod,
  kTruncateDiv,
  kTruncateMod,
  kMaximum,
  kMinimum,
  kPow,
  kSquaredDifference
};

BlockFn find(int op, DType type, Isa isa) { return CAPSTAN_FOR_ISA(isa, find_arith)(op, type); }

}  // namespace

BlockFn add_block(DType type, Isa isa) { return find(kAdd, type, isa); }
BlockFn sub_block(DType type, Isa isa) { return find(kSub, type, isa); }
BlockFn mul_block(DType type, Isa isa) { return find(kMul, type, isa); }
BlockFn div_block(DType type, Isa isa) { return find(kDiv, type, isa); }
BlockFn truncate_div_block(DType type, Isa isa) { return find(kTruncateDiv, type, isa); }
BlockFn floor_div_block(DType type, Isa isa) { return find(kFloorDiv, type, isa); }
BlockFn floor_mod_block(DType type, Isa isa) { return find(kFloorMod, type, isa); }
BlockFn truncate_mod_block(DType type, Isa isa) { return find(kTruncateMod, type, isa); }
BlockFn maximum_block(DType type, Isa isa) { return find(kMaximum, type, isa); }
BlockFn minimum_block(DType type, Isa isa) { return find(kMinimum, type, isa); }
BlockFn pow_block(DType type, Isa isa) { return find(kPow, type, isa); }
BlockFn squared_difference_block(DType type, Isa isa) {
  return find(kSquaredDifference, type, isa);
}

}  // namespace capstan
#endif
