#pragma once

// The lists of element types that rows allow, and the ways a kernel is instantiated for one of
// them.

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "graph/node.h"
#include "tensor/tensor.h"

namespace capstan {

constexpr std::string_view kAnyType = "type";
constexpr std::string_view kRealTypes = "type:float|double";
constexpr std::string_view kSignedTypes = "type:float|double|int8|int16|int32|int64";
constexpr std::string_view kNumberTypes =
    "type:float|double|int32|uint8|int16|int8|int64|uint16|uint32|uint64";
constexpr std::string_view kIndexTypes = "type:int32|int64";

[[noreturn]] inline void no_kernel(const Node& node, DType dtype) {
  throw unimplemented("{} (node '{}') has no kernel for elements of type {}", node.op(),
                      node.name(), dtype_name(dtype));
}

template <class T>
struct TypeTag {
  using type = T;
};

// f(TypeTag<T>()) for the number type; throws Unimplemented naming the node for others.
template <class F>
auto for_number(const Node& node, DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat: return f(TypeTag<float>());
    case DType::kDouble: return f(TypeTag<double>());
    case DType::kInt32: return f(TypeTag<int32_t>());
    case DType::kInt64: return f(TypeTag<int64_t>());
    case DType::kUInt8: return f(TypeTag<uint8_t>());
    case DType::kInt8: return f(TypeTag<int8_t>());
    case DType::kInt16: return f(TypeTag<int16_t>());
    case DType::kUInt16: return f(TypeTag<uint16_t>());
    case DType::kUInt32: return f(TypeTag<uint32_t>());
    case DType::kUInt64: return f(TypeTag<uint64_t>());
    default: no_kernel(node, dtype);
  }
}

template <class F>
auto for_real(const Node& node, DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat: return f(TypeTag<float>());
    case DType::kDouble: return f(TypeTag<double>());
    default: no_kernel(node, dtype);
  }
}

// For ops that only move elements: one instance per element size, and one for strings.
template <class F>
auto for_size(const Node& node, DType dtype, F&& f) {
  if (dtype == DType::kString) return f(TypeTag<std::string>());
  switch (dtype_size(dtype)) {
    case 1: return f(TypeTag<uint8_t>());
    case 2: return f(TypeTag<uint16_t>());
    case 4: return f(TypeTag<uint32_t>());
    case 8: return f(TypeTag<uint64_t>());
    default: no_kernel(node, dtype);
  }
}

// Element i of an int32 or int64 tensor (indices, shapes, axes).
inline int64_t int_at(const Tensor& t, int64_t i) {
  return t.dtype() == DType::kInt64 ? t.data<int64_t>()[i] : t.data<int32_t>()[i];
}
inline void set_int(Tensor& t, int64_t i, int64_t value) {
  if (t.dtype() == DType::kInt64) {
    t.data<int64_t>()[i] = value;
  } else {
    t.data<int32_t>()[i] = int32_t(value);
  }
}

// The one element of an int32 or int64 tensor of any rank; throws InvalidArgument for others.
int64_t single_int(const Node& node, const Tensor& t);

// The elements of an int32 or int64 vector as a shape; throws InvalidArgument for negative ones.
Shape shape_from(const Tensor& t);

// `axis` counted from the front; throws InvalidArgument naming the op when it is out of range.
int resolve_axis(const Node& node, int64_t axis, int rank);

}  // namespace capstan
