// Running sums and products.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/wrapping.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"

namespace capstan {
namespace {

using Kernel = void (*)(KernelContext&);

struct CumulateState {
  bool exclusive, reverse;
  Kernel run;
};

template <class T, bool kProduct>
void cumulate(KernelContext& c) {
  const auto& state = c.state<CumulateState>();
  const Tensor& x = c.in(0);
  const Shape& shape = x.shape();
  int axis = resolve_axis(c.node(), int_at(c.in(1), 0), shape.rank());
  Tensor& out = c.out(0, shape);
  int64_t n = shape[axis], inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  for (int64_t line = 0; line < (n ? x.size() / n : 0); ++line) {
    int64_t start = line / inner * n * inner + line % inner;
    T so_far = kProduct ? T(1) : T(0);
    for (int64_t i = 0; i < n; ++i) {
      int64_t place = start + (state.reverse ? n - 1 - i : i) * inner;
      const T value = x.data<T>()[place];
      T next = kProduct ? wrapping_multiply(so_far, value) : wrapping_add(so_far, value);
      out.data<T>()[place] = state.exclusive ? so_far : next;
      so_far = next;
    }
  }
}

template <bool kProduct>
std::shared_ptr<void> prepare_cumulate(const Node& node) {
  Kernel run = for_number(node, node.output_type(0), [](auto tag) -> Kernel {
    return cumulate<typename decltype(tag)::type, kProduct>;
  });
  return std::make_shared<CumulateState>(
      CumulateState{node.attrs().get<bool>("exclusive"), node.attrs().get<bool>("reverse"), run});
}

Output running(GradContext& g, std::string_view op, Output x, bool flip) {
  return g.op(
      op, {x, g.x(1)},
      {{"exclusive", g.attr<bool>("exclusive")}, {"reverse", g.attr<bool>("reverse") != flip}});
}

Values cumsum_gradient(GradContext& g) { return {running(g, "Cumsum", g.dy(0), true), {}}; }

Values cumprod_gradient(GradContext& g) {
  Output product = running(g, "Cumprod", g.x(0), false);
  Output sum = running(g, "Cumsum", mul(g.graph(), product, g.dy(0)), true);
  return {g.op("DivNoNan", {sum, g.x(0)}, {}, "div_no_nan"), {}};
}

constexpr OpDef cumulation(std::string_view name, std::string_view doc,
                           std::shared_ptr<void> (*prepare)(const Node&),
                           Values (*gradient)(GradContext&)) {
  return {
      .name = name,
      .doc = doc,
      .inputs = {{"x", "T"}, {"axis", "Tidx", 0}},
      .outputs = {{"out", "T"}},
      .attrs = {{"exclusive", "bool", "false"},
                {"reverse", "bool", "false"},
                {"T", kNumberTypes},
                {"Tidx", kIndexTypes, "int32"}},
      .shape = same_shape,
      .kernel = [](KernelContext& c) { c.state<CumulateState>().run(c); },
      .prepare = prepare,
      .gradient = gradient,
      .samples = {"float[2,3] int32[]{1}", "float[2,3] int32[]{0} exclusive=true reverse=true"}};
}

constexpr OpDef kCumsum =
    cumulation("Cumsum", "Running sums along an axis.", prepare_cumulate<false>, cumsum_gradient)
        .in_python("cumsum math.cumsum (x, axis=0, exclusive, reverse)");
constexpr OpDef kCumprod = cumulation("Cumprod", "Running products along an axis.",
                                      prepare_cumulate<true>, cumprod_gradient)
                               .in_python("cumprod math.cumprod (x, axis=0, exclusive, reverse)");

constexpr const OpDef* kRows[] = {&kCumsum, &kCumprod};

}  // namespace

OpFamily cumulate_ops() { return kRows; }

}  // namespace capstan
