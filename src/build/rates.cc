// Learning rates that change with the global step. All tensors are of the rate's type.

#include <numbers>

#include "build/composites.h"
#include "build/operators.h"

namespace capstan {
namespace {

Output progress(Output step, Output steps, bool staircase) {
  Output p = step / steps;
  return staircase ? p.graph().add("Floor", {p}) : p;
}

}  // namespace

Output exponential_decay(Output rate, Output step, Output steps, Output factor, bool staircase,
                         std::string_view name) {
  Composite made(rate.graph(), name);
  Output p = progress(step, steps, staircase);
  return binary("Mul", rate, binary("Pow", factor, p), made.self);
}

Output inverse_time_decay(Output rate, Output step, Output steps, Output factor, bool staircase,
                          std::string_view name) {
  Graph& g = rate.graph();
  Composite made(g, name);
  Output p = progress(step, steps, staircase);
  Output one = cast_to(g.constant(Tensor::scalar<int32_t>(1)), rate.dtype());
  return binary("RealDiv", rate, binary("AddV2", one, binary("Mul", factor, p), "Add"), made.self);
}

Output polynomial_decay(Output rate, Output step, Output steps, Output end, Output power,
                        bool cycle, std::string_view name) {
  Graph& g = rate.graph();
  Composite made(g, name);
  if (cycle) {
    Output first = binary("Equal", step, 0.0);
    Output rounds = g.add("Ceil", {step / steps});
    std::string full = g.unique_name("SelectV2");
    Output one = g.constant(scalar_of(rate.dtype(), 1), full + "/t/");
    steps = binary("Mul", steps, g.add("SelectV2", {first, one, rounds}, {}, full + "/"));
  } else {
    step = binary("Minimum", step, steps);
  }
  Output p = step / steps;
  Output span = rate - end;
  Output part = binary("Pow", 1.0 - p, power);
  return binary("AddV2", binary("Mul", span, part), end, made.self);
}

Output cosine_decay(Output rate, Output step, Output steps, double alpha, std::string_view name) {
  Graph& g = rate.graph();
  Composite made(g, name);
  Output p = binary("Minimum", step, steps) / steps;
  Output angle = g.constant(scalar_of(rate.dtype(), std::numbers::pi)) * p;
  Output cosine = 0.5 * (1.0 + g.add("Cos", {angle}));
  return binary("Mul", rate, (1 - alpha) * cosine + alpha);
}

Output piecewise_constant(Output x, std::span<const Output> boundaries,
                          std::span<const Output> rates, std::string_view name) {
  if (rates.size() != boundaries.size() + 1) {
    throw invalid_argument("{} boundaries part {} values, not {}", boundaries.size(),
                           boundaries.size() + 1, rates.size());
  }
  Graph& g = x.graph();
  Composite made(g, name);
  Output chosen = rates.back();
  for (size_t i = boundaries.size(); i-- > 0;) {
    chosen = g.add("Select", {binary("LessEqual", x, boundaries[i]), rates[i], chosen});
  }
  return g.add("Identity", {chosen}, {}, made.self);
}

namespace {

constexpr CompositeDef kRows[] = {
    {.name = "exponential_decay",
     .python = "train.exponential_decay (learning_rate: floating, "
               "global_step: type of learning_rate, decay_steps: type of learning_rate, "
               "decay_rate: type of learning_rate, staircase=False, name=None)",
     .doc = "learning_rate * decay_rate ^ (global_step / decay_steps); with a staircase the "
            "exponent is rounded down.",
     .scope = "ExponentialDecay",
     .order = "learning_rate decay_steps decay_rate global_step",
     .constants = "learning_rate=initial_learning_rate",
     .build = builder<exponential_decay>},
    {.name = "inverse_time_decay",
     .python = "train.inverse_time_decay (learning_rate: floating, "
               "global_step: type of learning_rate, decay_steps: type of learning_rate, "
               "decay_rate: type of learning_rate, staircase=False, name=None)",
     .doc = "learning_rate / (1 + decay_rate * global_step / decay_steps)",
     .scope = "InverseTimeDecay",
     .order = "learning_rate decay_steps decay_rate global_step",
     .constants = "learning_rate=initial_learning_rate",
     .build = builder<inverse_time_decay>},
    {.name = "polynomial_decay",
     .python = "train.polynomial_decay (learning_rate: floating, "
               "global_step: type of learning_rate, decay_steps: type of learning_rate, "
               "end_learning_rate: type of learning_rate=0.0001, "
               "power: type of learning_rate=1.0, cycle=False, name=None)",
     .doc = "From learning_rate to end_learning_rate in decay_steps, by a power of what is left; "
            "`cycle` makes the last step later whenever it is reached.",
     .scope = "PolynomialDecay",
     .order = "learning_rate end_learning_rate power global_step decay_steps",
     .constants = "learning_rate=initial_learning_rate",
     .build = builder<polynomial_decay>},
    {.name = "cosine_decay",
     .python = "train.cosine_decay (learning_rate: floating, global_step: type of learning_rate, "
               "decay_steps: type of learning_rate, alpha=0.0, name=None)",
     .doc = "Half a cosine from learning_rate to alpha * learning_rate in decay_steps.",
     .scope = "CosineDecay",
     .order = "learning_rate decay_steps global_step",
     .constants = "learning_rate=initial_learning_rate",
     .build = builder<cosine_decay>},
    {.name = "piecewise_constant",
     .python = "train.piecewise_constant train.piecewise_constant_decay "
               "(x, boundaries: type of x, values, name=None)",
     .doc = "values[i] up to boundaries[i], the last of them beyond.",
     .scope = "PiecewiseConstant",
     .constants = "x=Const",
     .build = builder<piecewise_constant>},
};

}  // namespace

CompositeFamily rate_composites() { return kRows; }

}  // namespace capstan
