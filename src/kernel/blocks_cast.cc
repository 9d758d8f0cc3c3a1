// Casts between the numeric types and bool: plain loops, which the compiler turns into vectors.

#include <limits>

#include "kernel/blocks.h"
#include "kernel/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/blocks_cast.cc"
#include "hwy/foreach_target.h"
#include "kernel/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

// Towards zero; the lowest number for what does not fit, as the machine's own conversion has it.
template <class To, class From>
HWY_INLINE To to_whole(From x) {
  constexpr From kLow = static_cast<From>(std::numeric_limits<To>::lowest());
  return x >= kLow && x < -kLow ? static_cast<To>(x) : std::numeric_limits<To>::lowest();
}

template <class To, class From>
HWY_INLINE To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint64_t>) {
    const From half = static_cast<From>(uint64_t{1} << 63);
    const auto upper = static_cast<uint64_t>(to_whole<int64_t>(x - half)) + (uint64_t{1} << 63);
    return x >= half ? upper : static_cast<uint64_t>(to_whole<int64_t>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Whole =
        std::conditional_t<(sizeof(To) < 4) || std::is_same_v<To, int32_t>, int32_t, int64_t>;
    return static_cast<To>(to_whole<Whole>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void cast(const void* const* in, void* out, int64_t n) {
  const From* x = static_cast<const From*>(in[0]);
  To* to = static_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(x[i]);
}

template <class From>
BlockFn cast_from(DType to) {
  switch (to) {
    case DType::kFloat: return cast<From, float>;
    case DType::kDouble: return cast<From, double>;
    case DType::kInt32: return cast<From, int32_t>;
    case DType::kInt64: return cast<From, int64_t>;
    case DType::kInt16: return cast<From, int16_t>;
    case DType::kInt8: return cast<From, int8_t>;
    case DType::kUInt8: return cast<From, uint8_t>;
    case DType::kUInt16: return cast<From, uint16_t>;
    case DType::kUInt32: return cast<From, uint32_t>;
    case DType::kUInt64: return cast<From, uint64_t>;
    case DType::kBool: return cast<From, bool>;
    default: return nullptr;
  }
}

}  // namespace

BlockFn find_cast(DType from, DType to) {
  switch (from) {
    case DType::kFloat: return cast_from<float>(to);
    case DType::kDouble: return cast_from<double>(to);
    case DType::kInt32: return cast_from<int32_t>(to);
    case DType::kInt64: return cast_from<int64_t>(to);
    case DType::kInt16: return cast_from<int16_t>(to);
    case DType::kInt8: return cast_from<int8_t>(to);
    case DType::kUInt8: return cast_from<uint8_t>(to);
    case DType::kUInt16: return cast_from<uint16_t>(to);
    case DType::kUInt32: return cast_from<uint32_t>(to);
    case DType::kUInt64: return cast_from<uint64_t>(to);
    case DType::kBool: return cast_from<bool>(to);
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

BlockFn cast_block(DType from, DType to, Isa isa) {
  return CAPSTAN_FOR_ISA(isa, find_cast)(from, to);
}

}  // namespace capstan
#endif
