// Choices between two tensors.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/simd.h"
#include "ops/blocks.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/select.cc"
#include "hwy/foreach_target.h"
#include "math/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

BlockFn select_block(DType type, Isa isa) { return CAPSTAN_FOR_ISA(isa, select_of)(type); }

namespace {

using Kernel = void (*)(KernelContext&);
void call_state(KernelContext& c) { c.state<Kernel>()(c); }

// All four of one shape.
template <class T>
void choose(KernelContext& c, Tensor& out) {
  const Tensor &condition = c.in(0), &t = c.in(1), &e = c.in(2);
  if (BlockFn block = select_block(out.dtype(), c.isa())) {
    const void* in[] = {condition.raw(), t.raw(), e.raw()};
    return block(in, out.raw(), out.size());
  }
  for (int64_t i = 0; i < out.size(); ++i) {
    out.data<T>()[i] = (condition.data<bool>()[i] ? t : e).data<T>()[i];
  }
}

// The condition is of the shape of both, a scalar, or a vector that chooses whole rows.
template <class T>
void select(KernelContext& c) {
  const Tensor &condition = c.in(0), &t = c.in(1), &e = c.in(2);
  if (t.shape() != e.shape()) {
    throw invalid_argument("Select needs t and e of one shape, but they have {} and {}", t.shape(),
                           e.shape());
  }
  Tensor& out = c.out(0, t.shape());
  const bool* chosen = condition.data<bool>();
  if (condition.shape() == t.shape()) return choose<T>(c, out);
  int64_t rows = condition.size();
  bool by_row = condition.shape().rank() == 1 && t.shape().rank() > 1 && t.shape()[0] == rows;
  if (!by_row && condition.shape().rank() != 0) {
    throw invalid_argument("Select's condition has shape {}, but t and e have {}",
                           condition.shape(), t.shape());
  }
  int64_t width = rows ? t.size() / rows : 0;
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n((chosen[i] ? t : e).data<T>() + i * width, width, out.data<T>() + i * width);
  }
}

template <class T>
void select_broadcast(KernelContext& c) {
  const Tensor &condition = c.in(0), &t = c.in(1), &e = c.in(2);
  Shape shape = broadcast(condition.shape(), broadcast(t.shape(), e.shape()));
  Tensor& out = c.out(0, shape);
  T* to = out.data<T>();
  if (condition.shape() == shape && t.shape() == shape && e.shape() == shape)
    return choose<T>(c, out);
  BroadcastWalk<3> walk(shape, {&condition.shape(), &t.shape(), &e.shape()});
  for (int64_t i = 0; i < out.size(); ++i, walk.next()) {
    bool yes = condition.data<bool>()[walk.at(0)];
    to[i] = yes ? t.data<T>()[walk.at(1)] : e.data<T>()[walk.at(2)];
  }
}

void select_shape(ShapeContext& c) {
  Shape shape = c.in(1).merged_with(c.in(2));
  if (c.in(0).known_rank() && c.in(0).rank() > 1) shape = shape.merged_with(c.in(0));
  c.out(0, shape);
}

Values select_gradient(GradContext& g) {
  Output zeros = zeros_like(g.graph(), g.x(1));
  Output gt = g.op("Select", {g.x(0), g.dy(0), zeros});
  return {{}, gt, g.op("Select", {g.x(0), zeros, g.dy(0)})};
}

Values select_v2_gradient(GradContext& g) {
  Output zeros = g.constant(number(g.dy(0).dtype(), 0), "zeros");
  Output gt = g.op("SelectV2", {g.x(0), g.dy(0), zeros});
  Output ge = g.op("SelectV2", {g.x(0), zeros, g.dy(0)});
  gt = reduce_to_inputs(g.graph(), g.x(1), g.y(0), gt, {}).first;
  ge = reduce_to_inputs(g.graph(), g.x(2), g.y(0), ge, {}).first;
  return {{}, gt, ge};
}

std::shared_ptr<void> prepare_select(const Node& node) {
  return std::make_shared<Kernel>(for_size(node, node.output_type(0), [](auto tag) -> Kernel {
    return select<typename decltype(tag)::type>;
  }));
}

std::shared_ptr<void> prepare_select_v2(const Node& node) {
  return std::make_shared<Kernel>(for_size(node, node.output_type(0), [](auto tag) -> Kernel {
    return select_broadcast<typename decltype(tag)::type>;
  }));
}

constexpr OpDef kSelect = {
    .name = "Select",
    .doc = "Takes elements (or rows) of t where the condition holds, else of e.",
    .inputs = {{"condition", "bool"}, {"t", "T"}, {"e", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}},
    .shape = select_shape,
    .kernel = call_state,
    .prepare = prepare_select,
    .gradient = select_gradient,
    .samples = {"bool[2]{0,1} float[2] float[2]", "bool[2]{0,1} float[2,3] float[2,3]"},
};

constexpr OpDef kSelectV2 = {
    .name = "SelectV2",
    .doc = "Takes elements of t where the condition holds, else of e; all three broadcast.",
    .inputs = {{"condition", "bool"}, {"t", "T"}, {"e", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}},
    .shape = broadcast_shape,
    .kernel = call_state,
    .prepare = prepare_select_v2,
    .gradient = select_v2_gradient,
    .samples = {"bool[2,1]{0,1} float[3] float[]", "bool[2]{0,1} float[2] float[2]"},
};

constexpr const OpDef* kRows[] = {&kSelect, &kSelectV2};

}  // namespace

OpFamily select_ops() { return kRows; }

}  // namespace capstan
#endif
