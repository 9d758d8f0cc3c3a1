// Comparisons, logic, choices between two tensors, and conversions of the element type.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/blocks.h"
#include "kernel/context.h"
#include "kernel/isa.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"
#include "ops/window.h"

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
    comparison("Less", "Whether x < y.", less_block).in_python("less math.less");
constexpr OpDef kLessEqual = comparison("LessEqual", "Whether x <= y.", less_equal_block)
                                 .in_python("less_equal math.less_equal");
constexpr OpDef kGreater =
    comparison("Greater", "Whether x > y.", greater_block).in_python("greater math.greater");
constexpr OpDef kGreaterEqual = comparison("GreaterEqual", "Whether x >= y.", greater_equal_block)
                                    .in_python("greater_equal math.greater_equal");
constexpr OpDef kLogicalAnd =
    logical("LogicalAnd", "Whether both x and y are true.", logical_and_block)
        .in_python("logical_and math.logical_and");
constexpr OpDef kLogicalOr = logical("LogicalOr", "Whether x or y is true.", logical_or_block)
                                 .in_python("logical_or math.logical_or");

constexpr OpDef kLogicalNot = {
    .name = "LogicalNot",
    .python = "logical_not math.logical_not",
    .doc = "Whether x is false.",
    .inputs = {{"x", "bool"}},
    .outputs = {{"y", "bool"}},
    .shape = same_shape,
    .block = logical_not_block,
    .no_gradient = true,
    .samples = {"bool[2]{0,1}"},
};

using Kernel = void (*)(KernelContext&);
void call_state(KernelContext& c) { c.state<Kernel>()(c); }

// --- Equality, of truth values too ---------------------------------------------------------------

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

constexpr OpDef kEqual = equality("Equal", "Whether x and y are equal.", equal_block);
constexpr OpDef kNotEqual = equality("NotEqual", "Whether x and y differ.", not_equal_block);

// --- Select --------------------------------------------------------------------------------------

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

// --- Cast ----------------------------------------------------------------------------------------

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
    .samples = {"float[2,3] DstT=double", "float[2,3](0,9) DstT=int32", "bool[2]{0,1} DstT=float"},
};

constexpr const OpDef* kRows[] = {&kLess,       &kLessEqual, &kGreater,    &kGreaterEqual,
                                  &kEqual,      &kNotEqual,  &kLogicalAnd, &kLogicalOr,
                                  &kLogicalNot, &kSelect,    &kSelectV2,   &kCast};

}  // namespace

OpFamily comparison_ops() { return kRows; }

}  // namespace capstan
