// Comparisons, logic and tests of single numbers. Plain loops, which the compiler turns into
// vectors of each instruction set.

#include <cmath>

#include "graph/shape_context.h"
#include "math/simd.h"
#include "ops/families.h"
#include "ops/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/comparison.cc"
#include "hwy/foreach_target.h"
#include "math/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

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

struct LogicalAnd {
  static HWY_INLINE bool of(bool a, bool b) { return a & b; }
};

struct LogicalOr {
  static HWY_INLINE bool of(bool a, bool b) { return a | b; }
};

struct LogicalNot {
  static HWY_INLINE bool of(bool x) { return !x; }
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
BlockFn compare_any(DType type) {
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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

using BlockChoice = BlockFn (*)(DType, Isa);

constexpr OpDef comparison(std::string_view name, std::string_view doc, BlockChoice block) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"x", "T"}, {"y", "T"}},
          .outputs = {{"z", "bool"}},
          .attrs = {{"T", kNumberTypes}},
          .shape = broadcast_shape,
          .block = block,
          .no_gradient = true,
          .samples = {"float[2,3] float[3]", "int64[3]{1,2,3} int64[3]{3,2,1}"}};
}

constexpr OpDef logical(std::string_view name, std::string_view doc, BlockChoice block) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"x", "bool"}, {"y", "bool"}},
          .outputs = {{"z", "bool"}},
          .shape = broadcast_shape,
          .block = block,
          .no_gradient = true,
          .samples = {"bool[4]{0,0,1,1} bool[4]{0,1,0,1}"}};
}

constexpr OpDef kLess =
    comparison("Less", "Whether x < y.", CAPSTAN_BLOCK(compare, Less)).in_python("less math.less");
constexpr OpDef kLessEqual =
    comparison("LessEqual", "Whether x <= y.", CAPSTAN_BLOCK(compare, LessEqual))
        .in_python("less_equal math.less_equal");
constexpr OpDef kGreater = comparison("Greater", "Whether x > y.", CAPSTAN_BLOCK(compare, Greater))
                               .in_python("greater math.greater");
constexpr OpDef kGreaterEqual =
    comparison("GreaterEqual", "Whether x >= y.", CAPSTAN_BLOCK(compare, GreaterEqual))
        .in_python("greater_equal math.greater_equal");
constexpr OpDef kLogicalAnd =
    logical("LogicalAnd", "Whether both x and y are true.", CAPSTAN_BLOCK(logic_2, LogicalAnd))
        .in_python("logical_and math.logical_and");
constexpr OpDef kLogicalOr =
    logical("LogicalOr", "Whether x or y is true.", CAPSTAN_BLOCK(logic_2, LogicalOr))
        .in_python("logical_or math.logical_or");

constexpr OpDef kLogicalNot = {
    .name = "LogicalNot",
    .python = "logical_not math.logical_not",
    .doc = "Whether x is false.",
    .inputs = {{"x", "bool"}},
    .outputs = {{"y", "bool"}},
    .shape = same_shape,
    .block = CAPSTAN_BLOCK(logic_1, LogicalNot),
    .no_gradient = true,
    .samples = {"bool[2]{0,1}"},
};

constexpr OpDef equality(std::string_view name, std::string_view doc, BlockChoice block) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"x", "T"}, {"y", "T"}},
          .outputs = {{"z", "bool"}},
          .attrs = {{"T", kAnyType}, {"incompatible_shape_error", "bool", "true"}},
          .shape = broadcast_shape,
          .block = block,
          .no_gradient = true,
          .samples = {"float[2,3] float[3]", "bool[2]{0,1} bool[2]{1,1}"}};
}

constexpr OpDef kEqual =
    equality("Equal", "Whether x and y are equal.", CAPSTAN_BLOCK(compare_any, Equal));
constexpr OpDef kNotEqual =
    equality("NotEqual", "Whether x and y differ.", CAPSTAN_BLOCK(compare_any, NotEqual));

constexpr OpDef predicate(std::string_view name, std::string_view doc, BlockChoice block) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"x", "T"}},
          .outputs = {{"y", "bool"}},
          .attrs = {{"T", kRealTypes}},
          .shape = same_shape,
          .block = block,
          .no_gradient = true,
          .samples = {"float[2,3]"}};
}

constexpr OpDef kIsNan =
    predicate("IsNan", "Whether x is not a number.", CAPSTAN_BLOCK(real_test, IsNan))
        .in_python("is_nan math.is_nan");
constexpr OpDef kIsInf =
    predicate("IsInf", "Whether x is an infinity.", CAPSTAN_BLOCK(real_test, IsInf))
        .in_python("is_inf math.is_inf");
constexpr OpDef kIsFinite =
    predicate("IsFinite", "Whether x is a finite number.", CAPSTAN_BLOCK(real_test, IsFinite))
        .in_python("is_finite math.is_finite");

constexpr const OpDef* kRows[] = {&kLess,       &kLessEqual, &kGreater,    &kGreaterEqual,
                                  &kEqual,      &kNotEqual,  &kLogicalAnd, &kLogicalOr,
                                  &kLogicalNot, &kIsNan,     &kIsInf,      &kIsFinite};

}  // namespace

OpFamily comparison_ops() { return kRows; }

}  // namespace capstan
#endif
