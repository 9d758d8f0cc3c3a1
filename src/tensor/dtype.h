#pragma once

// Element types, with TensorFlow's DataType numbers: they stand in GraphDefs and checkpoints.

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

namespace capstan {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kUInt16 = 17,
  kHalf = 19,
  kResource = 20,
  kUInt32 = 22,
  kUInt64 = 23,
};

// Bytes of one element; sizeof(std::string) for strings, 0 for types without elements.
size_t dtype_size(DType dtype);
// TensorFlow's spelling: "float32", "int64", "string". "invalid" for kInvalid.
std::string_view dtype_name(DType dtype);
// From "float32", "float", "int", "string" ...; throws InvalidArgument naming the text.
DType dtype_from_name(std::string_view name);
bool dtype_known(int number);
bool is_floating(DType dtype);
bool is_integer(DType dtype);

template <class T>
struct DTypeOf;
#define CAPSTAN_DTYPE(type, code)               \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::code; \
  };
CAPSTAN_DTYPE(float, kFloat)
CAPSTAN_DTYPE(double, kDouble)
CAPSTAN_DTYPE(int32_t, kInt32)
CAPSTAN_DTYPE(uint8_t, kUInt8)
CAPSTAN_DTYPE(int16_t, kInt16)
CAPSTAN_DTYPE(int8_t, kInt8)
CAPSTAN_DTYPE(std::string, kString)
CAPSTAN_DTYPE(std::complex<float>, kComplex64)
CAPSTAN_DTYPE(int64_t, kInt64)
CAPSTAN_DTYPE(bool, kBool)
CAPSTAN_DTYPE(uint16_t, kUInt16)
CAPSTAN_DTYPE(uint32_t, kUInt32)
CAPSTAN_DTYPE(uint64_t, kUInt64)
#undef CAPSTAN_DTYPE

}  // namespace capstan
