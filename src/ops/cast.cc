// Conversions of the element type.

#include <algorithm>
#include <limits>

#include "base/isa.h"
#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/simd.h"
#include "ops/blocks.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"
#include "ops/window.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cast.cc"
#include "hwy/foreach_target.h"
#include "math/blocks-inl.h"

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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

BlockFn cast_block(DType from, DType to, Isa isa) {
  return CAPSTAN_FOR_ISA(isa, find_cast)(from, to);
}

namespace {

struct CastState {
  BlockFn block;  // null: the types are the same
};

void cast_kernel(KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0, x.shape());
  BlockFn block = c.state<CastState>().block;
  if (!block) return copy_elements(y.dtype(), y.raw(), x.raw(), x.size());
  constexpr int64_t kPiece = 65536;
  c.pool().parallel_for((x.size() + kPiece - 1) / kPiece, [&](int64_t piece) {
    int64_t first = piece * kPiece;
    const void* in[] = {static_cast<const char*>(x.raw()) + size_t(first) * dtype_size(x.dtype())};
    void* out = static_cast<char*>(y.raw()) + size_t(first) * dtype_size(y.dtype());
    block(in, out, std::min(kPiece, x.size() - first));
  });
}

std::shared_ptr<void> prepare_cast(const Node& node) {
  DType from = node.input(0).dtype(), to = node.output_type(0);
  if (from == to) return std::make_shared<CastState>();
  BlockFn block = cast_block(from, to, best_isa());
  if (!block) {
    throw unimplemented("Cast (node '{}') cannot turn {} into {}", node.name(), dtype_name(from),
                        dtype_name(to));
  }
  return std::make_shared<CastState>(CastState{block});
}

Values cast_gradient(GradContext& g) {
  DType from = g.x(0).dtype();
  if (!is_floating(from) || !is_floating(g.dy(0).dtype())) return {{}};
  return {cast(g.graph(), g.dy(0), from)};
}

constexpr OpDef kCast = {
    .name = "Cast",
    .doc = "The same numbers as elements of another type.",
    .inputs = {{"x", "SrcT"}},
    .outputs = {{"y", "DstT"}},
    .attrs = {{"SrcT", kAnyType}, {"DstT", kAnyType}, {"Truncate", "bool", "false"}},
    .shape = same_shape,
    .kernel = cast_kernel,
    .prepare = prepare_cast,
    .gradient = cast_gradient,
    .moves = true,
    .foretold = true,
    .samples = {"float[2,3] DstT=double", "float[2,3](0,9) DstT=int32", "bool[2]{0,1} DstT=float"},
};

constexpr const OpDef* kRows[] = {&kCast};

}  // namespace

OpFamily cast_ops() { return kRows; }

}  // namespace capstan
#endif
