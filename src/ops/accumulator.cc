// Conditional accumulators, in the form that TensorFlow's Python uses now (resource handles) and in
// the older one (string references).

#include "kernel/accumulator.h"

#include <array>

#include "graph/shape_context.h"
#include "ops/families.h"
#include "ops/resources.h"
#include "ops/types.h"

namespace capstan {
namespace {

Accumulator::Reduction reduction_from(const std::string& name) {
  if (name == "MEAN") return Accumulator::Reduction::kMean;
  if (name == "SUM") return Accumulator::Reduction::kSum;
  throw invalid_argument("reduction_type must be MEAN or SUM, not '{}'", name);
}

void conditional_accumulator(KernelContext& c) {
  const AttrMap& attrs = c.node().attrs();
  const DType dtype = attrs.get<DType>("dtype");
  const Shape& shape = attrs.get<Shape>("shape");
  auto made =
      make_handle<Accumulator>(c, "ConditionalAccumulator", [&]() -> std::shared_ptr<Resource> {
        return std::make_shared<Accumulator>(
            resource_name(c.node()), dtype, shape,
            reduction_from(attrs.get<std::string>("reduction_type")));
      });
  if (made->dtype() == dtype && made->shape() == shape) return;
  throw invalid_argument("shared accumulator '{}' is {} {}, it cannot also be {} {}", made->name(),
                         dtype_name(made->dtype()), made->shape(), dtype_name(dtype), shape);
}

void apply_gradient(KernelContext& c) {
  resource_of<Accumulator>(c.in(0))->apply(c.scalar<int64_t>(1), c.in(2), c.pool());
}

void take_gradient(KernelContext& c) {
  begin_waiting(c, [&] {
    auto accumulator = resource_of<Accumulator>(c.in(0));
    accumulator->take(c.scalar<int32_t>(1), &c.cancellation(),
                      [&c](const Error* error, Tensor value) {
                        if (error) return c.fail(*error);
                        c.set_out(0, std::move(value));
                        c.done();
                      });
  });
}

void num_accumulated(KernelContext& c) {
  *c.out(0, Shape{}).data<int32_t>() = int32_t(resource_of<Accumulator>(c.in(0))->accumulated());
}

void set_global_step(KernelContext& c) {
  resource_of<Accumulator>(c.in(0))->set_global_step(c.scalar<int64_t>(1));
}

void take_shape(ShapeContext& c) {
  const Node* accumulator = c.node().input(0).node;
  const bool known = accumulator && accumulator->attrs().has("shape");
  c.out(0, known ? accumulator->attrs().get<Shape>("shape") : Shape::unknown());
}

constexpr OpDef accumulator_row(std::string_view name, std::string_view handle) {
  return {.name = name,
          .doc = "Gathers gradients of many workers and hands out their mean or sum.",
          .outputs = {{"handle", handle}},
          .attrs = {{"dtype", kRealTypes},
                    {"shape", "shape"},
                    {"container", "string", "''"},
                    {"shared_name", "string", "''"},
                    {"reduction_type", "string", "'MEAN'"}},
          .shape = pair_handle,
          .kernel = conditional_accumulator,
          .no_gradient = true,
          .stateful = true};
}

constexpr OpDef apply_row(std::string_view name, std::string_view handle) {
  return {.name = name,
          .doc = "Adds a gradient, unless it is older than the accumulator's global step.",
          .inputs = {{"handle", handle}, {"local_step", "int64", 0}, {"gradient", "dtype"}},
          .attrs = {{"dtype", kRealTypes}},
          .shape = no_outputs,
          .kernel = apply_gradient,
          .no_gradient = true,
          .stateful = true};
}

constexpr OpDef take_row(std::string_view name, std::string_view handle) {
  return {.name = name,
          .doc = "Waits for num_required gradients, hands out their mean or sum and begins anew.",
          .inputs = {{"handle", handle}, {"num_required", "int32", 0}},
          .outputs = {{"average", "dtype"}},
          .attrs = {{"dtype", kRealTypes}},
          .shape = take_shape,
          .blocking = take_gradient,
          .no_gradient = true,
          .stateful = true};
}

constexpr OpDef num_row(std::string_view name, std::string_view handle) {
  return {.name = name,
          .doc = "How many gradients wait in the accumulator.",
          .inputs = {{"handle", handle}},
          .outputs = {{"num_accumulated", "int32"}},
          .shape = scalar_shape,
          .kernel = num_accumulated,
          .no_gradient = true,
          .stateful = true};
}

constexpr OpDef set_step_row(std::string_view name, std::string_view handle) {
  return {.name = name,
          .doc = "Sets the step below which gradients are dropped.",
          .inputs = {{"handle", handle}, {"new_global_step", "int64", 0}},
          .shape = no_outputs,
          .kernel = set_global_step,
          .no_gradient = true,
          .stateful = true};
}

constexpr std::array<OpDef, 10> kAccumulatorRows = {
    accumulator_row("ResourceConditionalAccumulator", kResourceHandle),
    accumulator_row("ConditionalAccumulator", kStringHandle),
    apply_row("ResourceAccumulatorApplyGradient", kResourceHandle),
    apply_row("AccumulatorApplyGradient", kStringHandle),
    take_row("ResourceAccumulatorTakeGradient", kResourceHandle),
    take_row("AccumulatorTakeGradient", kStringHandle),
    num_row("ResourceAccumulatorNumAccumulated", kResourceHandle),
    num_row("AccumulatorNumAccumulated", kStringHandle),
    set_step_row("ResourceAccumulatorSetGlobalStep", kResourceHandle),
    set_step_row("AccumulatorSetGlobalStep", kStringHandle),
};

}  // namespace

OpFamily accumulator_ops() {
  static constexpr auto kRows = row_pointers(kAccumulatorRows);
  return kRows;
}

}  // namespace capstan
