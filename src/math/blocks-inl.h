// How a block function is made of an operation on vectors, or on single elements; compiled once per
// instruction set (see Highway's -inl headers).

#if defined(CAPSTAN_MATH_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_MATH_BLOCKS_INL_H_
#undef CAPSTAN_MATH_BLOCKS_INL_H_
#else
#define CAPSTAN_MATH_BLOCKS_INL_H_
#endif

#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "tensor/block.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// An operation is a struct with one or both of
//   many(d, v...)  on vectors, for float and double
//   one(x...)      on single elements, for whole numbers, or for all types when kScalar is true

template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> load_some(const T* from, size_t count, T* lanes) {
  std::memcpy(lanes, from, count * sizeof(T));
  return hn::Load(hn::ScalableTag<T>(), lanes);
}

// The last few elements go through the same code as whole vectors, so that a result does not
// depend on the place.
template <class T, class Op>
void map_vectors_1(const T* x, T* out, int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(T);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(Op::many(d, hn::LoadU(d, x + i)), d, out + i);
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  HWY_ALIGN T lanes[kLanes] = {};
  hn::Store(Op::many(d, load_some(x + i, rest, lanes)), d, lanes);
  std::memcpy(out + i, lanes, rest * sizeof(T));
}

template <class T, class Op>
void map_vectors_2(const T* x, const T* y, T* out, int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(T);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    hn::StoreU(Op::many(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, out + i);
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  HWY_ALIGN T a[kLanes] = {};
  HWY_ALIGN T b[kLanes] = {};
  const auto va = load_some(x + i, rest, a), vb = load_some(y + i, rest, b);
  hn::Store(Op::many(d, va, vb), d, a);
  std::memcpy(out + i, a, rest * sizeof(T));
}

template <class Op, class T>
constexpr bool by_vectors() {
  if constexpr (requires { Op::kScalar; }) return false;
  return std::is_floating_point_v<T>;
}

template <class Op, class T>
void block_1(const void* const* in, void* out, int64_t n) {
  const T* x = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out);
  if constexpr (by_vectors<Op, T>()) {
    map_vectors_1<T, Op>(x, to, n);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = Op::one(x[i]);
  }
}

template <class Op, class T>
void block_2(const void* const* in, void* out, int64_t n) {
  const T* x = static_cast<const T*>(in[0]);
  const T* y = static_cast<const T*>(in[1]);
  T* to = static_cast<T*>(out);
  if constexpr (by_vectors<Op, T>()) {
    map_vectors_2<T, Op>(x, y, to, n);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = Op::one(x[i], y[i]);
  }
}

template <class Op>
BlockFn real_1(DType type) {
  if (type == DType::kFloat) return block_1<Op, float>;
  return type == DType::kDouble ? block_1<Op, double> : nullptr;
}

template <class Op>
BlockFn real_2(DType type) {
  if (type == DType::kFloat) return block_2<Op, float>;
  return type == DType::kDouble ? block_2<Op, double> : nullptr;
}

template <class Op>
BlockFn number_1(DType type) {
  switch (type) {
    case DType::kInt32: return block_1<Op, int32_t>;
    case DType::kInt64: return block_1<Op, int64_t>;
    case DType::kInt16: return block_1<Op, int16_t>;
    case DType::kInt8: return block_1<Op, int8_t>;
    case DType::kUInt8: return block_1<Op, uint8_t>;
    case DType::kUInt16: return block_1<Op, uint16_t>;
    case DType::kUInt32: return block_1<Op, uint32_t>;
    case DType::kUInt64: return block_1<Op, uint64_t>;
    default: return real_1<Op>(type);
  }
}

template <class Op>
BlockFn number_2(DType type) {
  switch (type) {
    case DType::kInt32: return block_2<Op, int32_t>;
    case DType::kInt64: return block_2<Op, int64_t>;
    case DType::kInt16: return block_2<Op, int16_t>;
    case DType::kInt8: return block_2<Op, int8_t>;
    case DType::kUInt8: return block_2<Op, uint8_t>;
    case DType::kUInt16: return block_2<Op, uint16_t>;
    case DType::kUInt32: return block_2<Op, uint32_t>;
    case DType::kUInt64: return block_2<Op, uint64_t>;
    default: return real_2<Op>(type);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif
