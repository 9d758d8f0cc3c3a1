#pragma once

// The arithmetic of the optimizers over contiguous elements, in place. TensorFlow's formulas in its
// order of operations; products and sums are never joined, so all instruction sets agree.

#include <cstdint>

#include "graph/op_def.h"

namespace capstan {

template <class T>
struct AdamRates {
  T rate;  // lr * sqrt(1 - beta2_power) / (1 - beta1_power)
  T beta1, beta2, epsilon;
  bool nesterov;
};

template <class T>
struct OptimizerKernels {
  void (*gradient_descent)(T* var, const T* grad, int64_t n, T lr);
  void (*momentum)(T* var, T* accum, const T* grad, int64_t n, T lr, T momentum, bool nesterov);
  void (*adagrad)(T* var, T* accum, const T* grad, int64_t n, T lr, bool update_slots);
  void (*adam)(T* var, T* m, T* v, const T* grad, int64_t n, const AdamRates<T>& rates);
};

// float and double.
template <class T>
OptimizerKernels<T> optimizer_kernels(Isa isa);

}  // namespace capstan
