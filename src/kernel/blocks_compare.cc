// Comparisons, logic, choice and casts: plain loops, which the compiler turns into vectors of each
// instruction set.

#include <cmath>

#include "kernel/blocks.h"
#include "kernel/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/blocks_compare.cc"
#include "hwy/foreach_target.h"
#include "kernel/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

struct Equal {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a != b;
  }
};
struct Less {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a >= b;
  }
};
struct LogicalAnd {
  static HWY_INLINE bool of(bool a, bool b) { return a & b; }
};
struct LogicalOr {
  static HWY_INLINE bool of(bool a, bool b) { return a | b; }
};

struct IsNan {
  template <class T>
  static HWY_INLINE bool of(T x) {
    return std::isnan(x);
  }
};
struct IsInf {
  template <class T>
  static HWY_INLINE bool of(T x) {
    return std::isinf(x);
  }
};
struct IsFinite {
  template <class T>
  static HWY_INLINE bool of(T x) {
    return std::isfinite(x);
  }
};
struct LogicalNot {
  static HWY_INLINE bool of(bool x) { return !x; }
};

template <class Op, class T>
void test_1(const void* const* in, void* out, int64_t n) {
  const T* x = static_cast<const T*>(in[0]);
  bool* to = static_cast<bool*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = Op::of(x[i]);
}

template <class Op, class T>
void test_2(const void* const* in, void* out, int64_t n) {
  const T* x = static_cast<const T*>(in[0]);
  const T* y = static_cast<const T*>(in[1]);
  bool* to = static_cast<bool*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = Op::of(x[i], y[i]);
}

template <class Op>
BlockFn compare(DType type) {
  switch (type) {
    case DType::kFloat: return test_2<Op, float>;
    case DType::kDouble: return test_2<Op, double>;
    case DType::kInt32: return test_2<Op, int32_t>;
    case DType::kInt64: return test_2<Op, int64_t>;
    case DType::kInt16: return test_2<Op, int16_t>;
    case DType::kInt8: return test_2<Op, int8_t>;
    case DType::kUInt8: return test_2<Op, uint8_t>;
    case DType::kUInt16: return test_2<Op, uint16_t>;
    case DType::kUInt32: return test_2<Op, uint32_t>;
    case DType::kUInt64: return test_2<Op, uint64_t>;
    default: return nullptr;
  }
}

template <class Op>
BlockFn equality(DType type) {
  return type == DType::kBool ? test_2<Op, bool> : compare<Op>(type);
}

template <class Op>
BlockFn real_test(DType type) {
  if (type == DType::kFloat) return test_1<Op, float>;
  return type == DType::kDouble ? test_1<Op, double> : nullptr;
}

template <class Op>
BlockFn logic_1(DType type) {
  return type == DType::kBool ? test_1<Op, bool> : nullptr;
}
template <class Op>
BlockFn logic_2(DType type) {
  return type == DType::kBool ? test_2<Op, bool> : nullptr;
}

template <class T>
void select(const void* const* in, void* out, int64_t n) {
  const bool* chosen = static_cast<const bool*>(in[0]);
  const T* x = static_cast<const T*>(in[1]);
  const T* y = static_cast<const T*>(in[2]);
  T* to = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = chosen[i] ? x[i] : y[i];
}

// By size: a choice moves bits.
BlockFn select_of(DType type) {
  if (type == DType::kString) return nullptr;
  switch (dtype_size(type)) {
    case 1: return select<uint8_t>;
    case 2: return select<uint16_t>;
    case 4: return select<uint32_t>;
    case 8: return select<uint64_t>;
    default: return nullptr;
  }
}

constexpr BlockFn (*kFind[])(DType) = {
    equality<Equal>,     equality<NotEqual>,    compare<Less>,      compare<LessEqual>,
    compare<Greater>,    compare<GreaterEqual>, real_test<IsNan>,   real_test<IsInf>,
    real_test<IsFinite>, logic_2<LogicalAnd>,   logic_2<LogicalOr>, logic_1<LogicalNot>,
    select_of,
};

}  // namespace

BlockFn find_test(int op, DType type) { return kFind[op](type); }

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

// In the order of kFind.
enum {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIsNan,
  kIsInf,
  kIsFinite,
  kLogicalAnd,
  kLogicalOr,
  kLogicalNot,
  kSelect
};

BlockFn find(int op, DType type, Isa isa) { return CAPSTAN_FOR_ISA(isa, find_test)(op, type); }

}  // namespace

BlockFn equal_block(DType type, Isa isa) { return find(kEqual, type, isa); }
BlockFn not_equal_block(DType type, Isa isa) { return find(kNotEqual, type, isa); }
BlockFn less_block(DType type, Isa isa) { return find(kLess, type, isa); }
BlockFn less_equal_block(DType type, Isa isa) { return find(kLessEqual, type, isa); }
BlockFn greater_block(DType type, Isa isa) { return find(kGreater, type, isa); }
BlockFn greater_equal_block(DType type, Isa isa) { return find(kGreaterEqual, type, isa); }
BlockFn is_nan_block(DType type, Isa isa) { return find(kIsNan, type, isa); }
BlockFn is_inf_block(DType type, Isa isa) { return find(kIsInf, type, isa); }
BlockFn is_finite_block(DType type, Isa isa) { return find(kIsFinite, type, isa); }
BlockFn logical_and_block(DType type, Isa isa) { return find(kLogicalAnd, type, isa); }
BlockFn logical_or_block(DType type, Isa isa) { return find(kLogicalOr, type, isa); }
BlockFn logical_not_block(DType type, Isa isa) { return find(kLogicalNot, type, isa); }
BlockFn select_block(DType type, Isa isa) { return find(kSelect, type, isa); }

}  // namespace capstan
#endif
