#pragma once

// Arithmetic on users' whole numbers: results that do not fit wrap around, as TensorFlow's do. The
// language leaves the overflow of signed numbers undefined.

#include <cstdint>
#include <type_traits>

namespace capstan {

// No narrower than what the language computes in, no wider than vectors multiply well.
template <class T>
using Unsigned = std::conditional_t<(sizeof(T) <= 4), uint32_t, uint64_t>;

template <class T>
constexpr T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(Unsigned<T>(a) + Unsigned<T>(b));
  return T(a + b);
}

template <class T>
constexpr T wrapping_subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(Unsigned<T>(a) - Unsigned<T>(b));
  return T(a - b);
}

template <class T>
constexpr T wrapping_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(Unsigned<T>(a) * Unsigned<T>(b));
  return T(a * b);
}

}  // namespace capstan
