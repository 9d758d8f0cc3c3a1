#pragma once

// Block functions of one scalar formula, for rows that are too rare to deserve vectors.

#include "graph/op_def.h"

namespace capstan {

template <class T, class Formula>
void plain_unary(const void* const* in, void* out, int64_t n) {
  auto x = static_cast<const T*>(in[0]);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = Formula::of(x[i]);
}

template <class T, class Formula>
void plain_binary(const void* const* in, void* out, int64_t n) {
  auto x = static_cast<const T*>(in[0]), y = static_cast<const T*>(in[1]);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = Formula::of(x[i], y[i]);
}

// Formula::of(x), a template over float and double.
template <class Formula>
BlockFn plain_unary_block(DType dtype, Isa) {
  if (dtype == DType::kFloat) return plain_unary<float, Formula>;
  return dtype == DType::kDouble ? plain_unary<double, Formula> : nullptr;
}

template <class Formula>
BlockFn plain_binary_block(DType dtype, Isa) {
  if (dtype == DType::kFloat) return plain_binary<float, Formula>;
  return dtype == DType::kDouble ? plain_binary<double, Formula> : nullptr;
}

}  // namespace capstan
