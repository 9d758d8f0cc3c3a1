// Activations of neural networks and their gradients.

#include <cmath>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/simd.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/plain_block.h"
#include "ops/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation.cc"
#include "hwy/foreach_target.h"
#include "math/blocks-inl.h"
#include "math/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

struct Relu {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return x < 0 ? T(0) : x;
  }
};

// Products with 1 or 0, as in TensorFlow: a NaN or an infinity stays visible where a unit is
// inactive.
struct ReluGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V x) {
    return hn::Mul(dy, hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1)));
  }
  template <class T>
  static HWY_INLINE T one(T dy, T x) {
    return x > 0 ? dy : T(0);
  }
};

struct Relu6 {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    const V six = hn::Set(d, 6);
    return hn::IfThenElse(hn::Gt(x, six), six, Relu::many(d, x));
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return x > 6 ? T(6) : Relu::one(x);
  }
};

struct Relu6Grad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V x) {
    const auto inside = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, hn::Set(d, 6)));
    return hn::Mul(dy, hn::IfThenElseZero(inside, hn::Set(d, 1)));
  }
  template <class T>
  static HWY_INLINE T one(T dy, T x) {
    return x > 0 && x < 6 ? dy : T(0);
  }
};

struct Elu {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), expm1(d, x), x);
  }
};

struct EluGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V y) {
    const V slope = hn::Add(y, hn::Set(d, 1));
    return hn::IfThenElse(hn::Lt(y, hn::Zero(d)), hn::Mul(dy, slope), dy);
  }
};

// log(1 + exp(x)), written so that neither end overflows.
struct Softplus {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    const V rest = log1p(d, exp(d, hn::Neg(hn::Abs(x))));
    return hn::Add(hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x), rest);
  }
};

struct SoftplusGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V x) {
    return hn::Mul(dy, sigmoid(d, x));
  }
};

struct Softsign {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return hn::Div(x, hn::Add(hn::Set(d, 1), hn::Abs(x)));
  }
};

struct SoftsignGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V x) {
    const V size = hn::Add(hn::Set(d, 1), hn::Abs(x));
    return hn::Div(dy, hn::Mul(size, size));
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

using BlockChoice = BlockFn (*)(DType, Isa);
using Gradient = Values (*)(GradContext&);
using Samples = RowList<std::string_view, 4>;

constexpr OpDef activation(std::string_view name, std::string_view doc, std::string_view types,
                           BlockChoice block, Gradient gradient, Samples samples = {"float[2,3]"}) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"features", "T"}},
          .outputs = {{"activations", "T"}},
          .attrs = {{"T", types}},
          .shape = same_shape,
          .block = block,
          .gradient = gradient,
          .samples = samples};
}

// `second` is the features, or the activations where the gradient is easier told from them.
constexpr OpDef activation_grad(std::string_view name, std::string_view doc, std::string_view types,
                                std::string_view second, BlockChoice block, Gradient gradient) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"gradients", "T"}, {second, "T"}},
          .outputs = {{"backprops", "T"}},
          .attrs = {{"T", types}},
          .shape = equal_shapes,
          .block = block,
          .equal_inputs = true,
          .gradient = gradient,
          .samples = {"float[2,3] float[2,3]"}};
}

Values by_output(GradContext& g, std::string_view op) { return {g.op(op, {g.dy(0), g.y(0)})}; }
Values by_input(GradContext& g, std::string_view op) { return {g.op(op, {g.dy(0), g.x(0)})}; }

// The second derivative of what is piecewise linear is zero.
Values linear_grad(GradContext& g, std::string_view op) {
  Output first = g.op(op, {g.dy(0), g.x(1)});
  return {first, zeros_like(g.graph(), g.x(1))};
}

// Elu and Selu bend where their value is negative: there the gradient depends on the value.
Values bent_grad_gradient(GradContext& g, std::string_view op) {
  Graph& graph = g.graph();
  Output y = g.x(1), first = g.op(op, {g.dy(0), y});
  Output negative = node(graph, "Less", {y, number(y.dtype(), 0)});
  Output product = mul(graph, g.dy(0), g.x(0));
  return {first, g.op("Select", {negative, product, zeros_like(graph, y)})};
}

Values softplus_gradient(GradContext& g) {
  Output sigmoid = g.op("Sigmoid", {g.x(0)});
  return {mul(g.graph(), g.dy(0), sigmoid)};
}

Values softplus_grad_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Graph& graph = g.graph();
  Output x = g.x(1), first = g.op("SoftplusGrad", {g.dy(0), x});
  Output product = mul(graph, g.dy(0), g.x(0));
  Output falling = g.op("Exp", {neg(graph, x)});
  Output sum = add(graph, falling, number(x.dtype(), 2));
  sum = add(graph, sum, g.op("Exp", {x}));
  return {first, truediv(graph, product, sum)};
}

constexpr OpDef kRelu =
    activation("Relu", "max(features, 0).", kNumberTypes, CAPSTAN_BLOCK(number_1, Relu),
               [](GradContext& g) { return by_output(g, "ReluGrad"); });
constexpr OpDef kReluGrad = activation_grad(
    "ReluGrad", "gradients where features > 0, else 0.", kNumberTypes, "features",
    CAPSTAN_BLOCK(number_2, ReluGrad), [](GradContext& g) { return linear_grad(g, "ReluGrad"); });
constexpr OpDef kRelu6 =
    activation("Relu6", "min(max(features, 0), 6).", kNumberTypes, CAPSTAN_BLOCK(number_1, Relu6),
               [](GradContext& g) { return by_output(g, "Relu6Grad"); }, {"float[2,3](-2,8)"})
        .in_python("nn.relu6");
constexpr OpDef kRelu6Grad = activation_grad(
    "Relu6Grad", "gradients where 0 < features < 6, else 0.", kNumberTypes, "features",
    CAPSTAN_BLOCK(number_2, Relu6Grad), [](GradContext& g) { return linear_grad(g, "Relu6Grad"); });
constexpr OpDef kElu =
    activation("Elu", "features, or exp(features) - 1 where negative.", kRealTypes,
               CAPSTAN_BLOCK(real_1, Elu), [](GradContext& g) { return by_output(g, "EluGrad"); })
        .in_python("nn.elu");
constexpr OpDef kEluGrad =
    activation_grad("EluGrad", "gradients, times (outputs + 1) where outputs are negative.",
                    kRealTypes, "outputs", CAPSTAN_BLOCK(real_2, EluGrad),
                    [](GradContext& g) { return bent_grad_gradient(g, "EluGrad"); });
constexpr OpDef kSoftplus = activation("Softplus", "log(exp(features) + 1).", kRealTypes,
                                       CAPSTAN_BLOCK(real_1, Softplus), softplus_gradient)
                                .in_python("nn.softplus math.softplus");
constexpr OpDef kSoftplusGrad =
    activation_grad("SoftplusGrad", "gradients / (exp(-features) + 1).", kRealTypes, "features",
                    CAPSTAN_BLOCK(real_2, SoftplusGrad), softplus_grad_gradient);
constexpr OpDef kSoftsign = activation("Softsign", "features / (|features| + 1).", kRealTypes,
                                       CAPSTAN_BLOCK(real_1, Softsign),
                                       [](GradContext& g) { return by_input(g, "SoftsignGrad"); })
                                .in_python("nn.softsign math.softsign");
constexpr OpDef kSoftsignGrad =
    activation_grad("SoftsignGrad", "gradients / (|features| + 1)^2.", kRealTypes, "features",
                    CAPSTAN_BLOCK(real_2, SoftsignGrad), nullptr);

// The constants of the paper that names it: outputs keep mean 0 and variance 1.
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;

struct SeluFormula {
  template <class T>
  static T of(T x) {
    return x < 0 ? T(kSeluScale * kSeluAlpha) * std::expm1(x) : T(kSeluScale) * x;
  }
};
struct SeluGradFormula {
  template <class T>
  static T of(T dy, T y) {
    return y < 0 ? dy * (y + T(kSeluScale * kSeluAlpha)) : dy * T(kSeluScale);
  }
};

constexpr OpDef kSelu =
    activation("Selu", "scale * features, or scale * alpha * (exp(features) - 1).", kRealTypes,
               plain_unary_block<SeluFormula>,
               [](GradContext& g) { return by_output(g, "SeluGrad"); })
        .in_python("nn.selu");
constexpr OpDef kSeluGrad =
    activation_grad("SeluGrad", "The gradient of Selu, told from its outputs.", kRealTypes,
                    "outputs", plain_binary_block<SeluGradFormula>,
                    [](GradContext& g) { return bent_grad_gradient(g, "SeluGrad"); });

// --- LeakyRelu: its slope is an attr, so it has kernels ------------------------------------------

struct LeakyState {
  float alpha;
  void (*run)(KernelContext&);
};

template <class T>
void leaky_relu(KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0, x.shape());
  T alpha = T(c.state<LeakyState>().alpha);
  const T* in = x.data<T>();
  for (int64_t i = 0; i < x.size(); ++i) y.data<T>()[i] = in[i] > 0 ? in[i] : alpha * in[i];
}

template <class T>
void leaky_relu_grad(KernelContext& c) {
  const Tensor &dy = c.in(0), &x = c.in(1);
  if (dy.shape() != x.shape()) {
    throw invalid_argument("LeakyReluGrad: gradients {} and features {} differ", dy.shape(),
                           x.shape());
  }
  Tensor& dx = c.out(0, x.shape());
  T alpha = T(c.state<LeakyState>().alpha);
  const T *in = dy.data<T>(), *features = x.data<T>();
  for (int64_t i = 0; i < x.size(); ++i) dx.data<T>()[i] = features[i] > 0 ? in[i] : alpha * in[i];
}

using Kernel = void (*)(KernelContext&);

std::shared_ptr<void> leaky_state(const Node& node, Kernel run) {
  return std::make_shared<LeakyState>(LeakyState{node.attrs().get<float>("alpha"), run});
}

constexpr OpDef kLeakyRelu = {
    .name = "LeakyRelu",
    .doc = "features, or alpha * features where negative.",
    .inputs = {{"features", "T"}},
    .outputs = {{"activations", "T"}},
    .attrs = {{"alpha", "float", "0.2"}, {"T", kRealTypes, "float"}},
    .shape = same_shape,
    .kernel = [](KernelContext& c) { c.state<LeakyState>().run(c); },
    .prepare =
        [](const Node& node) {
          return leaky_state(node, for_real(node, node.output_type(0), [](auto tag) -> Kernel {
                               return leaky_relu<typename decltype(tag)::type>;
                             }));
        },
    .gradient = [](GradContext& g) -> Values {
      return {g.op("LeakyReluGrad", {g.dy(0), g.x(0)}, {{"alpha", g.attr<float>("alpha")}})};
    },
    .samples = {"float[2,3]", "float[2,3] alpha=0.5"},
};

constexpr OpDef kLeakyReluGrad = {
    .name = "LeakyReluGrad",
    .doc = "gradients, times alpha where the features are not positive.",
    .inputs = {{"gradients", "T"}, {"features", "T"}},
    .outputs = {{"backprops", "T"}},
    .attrs = {{"alpha", "float", "0.2"}, {"T", kRealTypes, "float"}},
    .shape = equal_shapes,
    .kernel = [](KernelContext& c) { c.state<LeakyState>().run(c); },
    .prepare =
        [](const Node& node) {
          return leaky_state(node, for_real(node, node.output_type(0), [](auto tag) -> Kernel {
                               return leaky_relu_grad<typename decltype(tag)::type>;
                             }));
        },
    .gradient = [](GradContext& g) -> Values {
      AttrMap alpha = {{"alpha", g.attr<float>("alpha")}};
      Output first = g.op("LeakyReluGrad", {g.dy(0), g.x(1)}, alpha);
      return {first, zeros_like(g.graph(), g.x(1))};
    },
    .samples = {"float[2,3] float[2,3]"},
};

constexpr const OpDef* kRows[] = {&kRelu,     &kReluGrad,     &kRelu6,     &kRelu6Grad,
                                  &kElu,      &kEluGrad,      &kSoftplus,  &kSoftplusGrad,
                                  &kSoftsign, &kSoftsignGrad, &kLeakyRelu, &kLeakyReluGrad,
                                  &kSelu,     &kSeluGrad};

}  // namespace

OpFamily activation_ops() { return kRows; }

}  // namespace capstan
#endif
