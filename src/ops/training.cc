// The optimizers' updates of variables and their slots. They run where the variable lives, in
// place.

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "kernel/optimizer_kernels.h"
#include "ops/families.h"
#include "ops/types.h"
#include "ops/write_locks.h"

namespace capstan {
namespace {

// Elements that are worth a thread's attention; the cut does not depend on how many there are.
constexpr int64_t kPiece = 32 * 1024;
constexpr int64_t kWorthSplitting = 200 * 1024;  // below, waking another core costs more

struct ApplyState {
  bool locks;
  bool flag;  // use_nesterov or update_slots
};

template <const char* flag>
std::shared_ptr<void> prepare_apply(const Node& node) {
  const AttrMap& attrs = node.attrs();
  return std::make_shared<ApplyState>(
      ApplyState{attrs.get<bool>("use_locking"), *flag != '\0' && attrs.get<bool>(flag)});
}

constexpr char kNoFlag[] = "", kNesterov[] = "use_nesterov", kUpdateSlots[] = "update_slots";

// The variable of reference input i, to be changed. It must have the gradient's shape.
class Target : public VariableWrite {
 public:
  Target(const KernelContext& c, int i, const Tensor& grad)
      : VariableWrite(c.variable(i), *c.task().variable_memory, c.loans()) {
    if (shape() == grad.shape()) return;
    throw invalid_argument("{}: variable {} has shape {} but its gradient has {}", c.node().name(),
                           c.variable(i).name(), shape(), grad.shape());
  }
};

// update(start, length) over the elements of a tensor, in pieces.
template <class Update>
void in_pieces(KernelContext& c, int64_t size, const Update& update) {
  if (size < kWorthSplitting) return update(0, size);
  c.pool().parallel_for((size + kPiece - 1) / kPiece, [&](int64_t piece) {
    update(piece * kPiece, std::min(kPiece, size - piece * kPiece));
  });
}

template <class T>
void gradient_descent(KernelContext& c, const ApplyState&) {
  const Tensor& grad = c.in(2);
  Target var(c, 0, grad);
  const T lr = c.scalar<T>(1);
  const auto kernel = optimizer_kernels<T>(c.isa()).gradient_descent;
  in_pieces(c, grad.size(),
            [&](int64_t at, int64_t n) { kernel(var.data<T>() + at, grad.data<T>() + at, n, lr); });
}

template <class T>
void momentum(KernelContext& c, const ApplyState& state) {
  const Tensor& grad = c.in(3);
  Target var(c, 0, grad);
  Target accum(c, 1, grad);
  const T lr = c.scalar<T>(2), keep = c.scalar<T>(4);
  const auto kernel = optimizer_kernels<T>(c.isa()).momentum;
  in_pieces(c, grad.size(), [&](int64_t at, int64_t n) {
    kernel(var.data<T>() + at, accum.data<T>() + at, grad.data<T>() + at, n, lr, keep, state.flag);
  });
}

template <class T>
void adagrad(KernelContext& c, const ApplyState& state) {
  const Tensor& grad = c.in(3);
  Target var(c, 0, grad);
  Target accum(c, 1, grad);
  const T lr = c.scalar<T>(2);
  const auto kernel = optimizer_kernels<T>(c.isa()).adagrad;
  in_pieces(c, grad.size(), [&](int64_t at, int64_t n) {
    kernel(var.data<T>() + at, accum.data<T>() + at, grad.data<T>() + at, n, lr, state.flag);
  });
}

template <class T>
void adam(KernelContext& c, const ApplyState& state) {
  const Tensor& grad = c.in(9);
  Target var(c, 0, grad);
  Target m(c, 1, grad);
  Target v(c, 2, grad);
  const T beta1_power = c.scalar<T>(3), beta2_power = c.scalar<T>(4), lr = c.scalar<T>(5);
  const AdamRates<T> rates{lr * std::sqrt(T(1) - beta2_power) / (T(1) - beta1_power),
                           c.scalar<T>(6), c.scalar<T>(7), c.scalar<T>(8), state.flag};
  const auto kernel = optimizer_kernels<T>(c.isa()).adam;
  in_pieces(c, grad.size(), [&](int64_t at, int64_t n) {
    kernel(var.data<T>() + at, m.data<T>() + at, v.data<T>() + at, grad.data<T>() + at, n, rates);
  });
}

// The row's kernel: takes the locks over the first `refs` inputs, then the arithmetic for its type.
using Typed = void (*)(KernelContext&, const ApplyState&);

template <Typed single, Typed wide, int... refs>
void apply(KernelContext& c) {
  const auto& state = c.state<ApplyState>();
  const WriteLocks locks(c, {refs...}, state.locks);
  switch (c.variable(0).dtype()) {
    case DType::kFloat: return single(c, state);
    case DType::kDouble: return wide(c, state);
    default: no_kernel(c.node(), c.variable(0).dtype());
  }
}

// References and the gradient have one shape.
template <int refs, int grad>
void apply_shape(ShapeContext& c) {
  Shape shape = c.in(grad);
  for (int i = 0; i < refs; ++i) shape = shape.merged_with(c.in(i));
  c.out(0, shape);
}

constexpr OpDef kApplyGradientDescent = {
    .name = "ApplyGradientDescent",
    .doc = "var -= alpha * delta",
    .inputs = {{"var", "Ref(T)"}, {"alpha", "T", 0}, {"delta", "T"}},
    .outputs = {{"out", "Ref(T)"}},
    .attrs = {{"T", kRealTypes}, {"use_locking", "bool", "false"}},
    .shape = apply_shape<1, 2>,
    .kernel = apply<gradient_descent<float>, gradient_descent<double>, 0>,
    .prepare = prepare_apply<kNoFlag>,
    .no_gradient = true,
    .stateful = true,
    .writes = 1,
    .samples = {"float[2,3] float[](0.1,1) float[2,3]"},
};

constexpr OpDef kApplyMomentum = {
    .name = "ApplyMomentum",
    .doc = "accum = accum * momentum + grad; var -= lr * accum",
    .inputs = {{"var", "Ref(T)"},
               {"accum", "Ref(T)"},
               {"lr", "T", 0},
               {"grad", "T"},
               {"momentum", "T", 0}},
    .outputs = {{"out", "Ref(T)"}},
    .attrs = {{"T", kRealTypes},
              {"use_locking", "bool", "false"},
              {"use_nesterov", "bool", "false"}},
    .shape = apply_shape<2, 3>,
    .kernel = apply<momentum<float>, momentum<double>, 0, 1>,
    .prepare = prepare_apply<kNesterov>,
    .no_gradient = true,
    .stateful = true,
    .writes = 3,
    .samples = {"float[2,3] float[2,3] float[](0.1,1) float[2,3] float[](0.1,1)"},
};

constexpr OpDef kApplyAdagrad = {
    .name = "ApplyAdagrad",
    .doc = "accum += grad * grad; var -= lr * grad / sqrt(accum)",
    .inputs = {{"var", "Ref(T)"}, {"accum", "Ref(T)"}, {"lr", "T", 0}, {"grad", "T"}},
    .outputs = {{"out", "Ref(T)"}},
    .attrs = {{"T", kRealTypes},
              {"use_locking", "bool", "false"},
              {"update_slots", "bool", "true"}},
    .shape = apply_shape<2, 3>,
    .kernel = apply<adagrad<float>, adagrad<double>, 0, 1>,
    .prepare = prepare_apply<kUpdateSlots>,
    .no_gradient = true,
    .stateful = true,
    .writes = 3,
    .samples = {"float[2,3] float[2,3](0.1,1) float[](0.1,1) float[2,3]"},
};

constexpr OpDef kApplyAdam = {
    .name = "ApplyAdam",
    .doc =
        "m += (1 - beta1) * (grad - m); v += (1 - beta2) * (grad^2 - v); "
        "var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon)",
    .inputs = {{"var", "Ref(T)"},
               {"m", "Ref(T)"},
               {"v", "Ref(T)"},
               {"beta1_power", "T", 0},
               {"beta2_power", "T", 0},
               {"lr", "T", 0},
               {"beta1", "T", 0},
               {"beta2", "T", 0},
               {"epsilon", "T", 0},
               {"grad", "T"}},
    .outputs = {{"out", "Ref(T)"}},
    .attrs = {{"T", kRealTypes},
              {"use_locking", "bool", "false"},
              {"use_nesterov", "bool", "false"}},
    .shape = apply_shape<3, 9>,
    .kernel = apply<adam<float>, adam<double>, 0, 1, 2>,
    .prepare = prepare_apply<kNesterov>,
    .no_gradient = true,
    .stateful = true,
    .writes = 7,
    .samples = {"float[5] float[5] float[5](0,1) float[]{0.9} float[]{0.99} float[]{0.1} "
                "float[]{0.9} float[]{0.99} float[]{0.001} float[5]"},
};

constexpr std::array<const OpDef*, 4> kRows = {
    &kApplyGradientDescent,
    &kApplyMomentum,
    &kApplyAdagrad,
    &kApplyAdam,
};

}  // namespace

OpFamily training_ops() { return kRows; }

}  // namespace capstan
