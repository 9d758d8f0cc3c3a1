#pragma once

// Learning rates that change with the global step. All tensors are of the rate's type.

#include "build/basics.h"

namespace capstan {

// rate * factor ^ (step / steps); with a staircase the exponent is rounded down.
Output exponential_decay(Output rate, Output step, Output steps, Output factor,
                         bool staircase = false, std::string_view name = "ExponentialDecay");
// rate / (1 + factor * step / steps)
Output inverse_time_decay(Output rate, Output step, Output steps, Output factor,
                          bool staircase = false, std::string_view name = "InverseTimeDecay");
// From rate to `end` in `steps`, by a power of what is left; `cycle` makes the last step later
// whenever it is reached.
Output polynomial_decay(Output rate, Output step, Output steps, Output end, Output power,
                        bool cycle = false, std::string_view name = "PolynomialDecay");
// Half a cosine from rate to alpha * rate in `steps`.
Output cosine_decay(Output rate, Output step, Output steps, double alpha = 0,
                    std::string_view name = "CosineDecay");
// rates[i] up to boundaries[i], the last of them beyond.
Output piecewise_constant(Output x, std::span<const Output> boundaries,
                          std::span<const Output> rates,
                          std::string_view name = "PiecewiseConstant");

}  // namespace capstan
