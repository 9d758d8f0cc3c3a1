#include "tensor/dtype.h"

#include "base/error.h"

namespace capstan {
namespace {

struct Row {
  DType dtype;
  size_t size;
  std::string_view name, alias;
};

constexpr Row kRows[] = {
    {DType::kFloat, 4, "float32", "float"},
    {DType::kDouble, 8, "float64", "double"},
    {DType::kInt32, 4, "int32", "int"},
    {DType::kUInt8, 1, "uint8", "uint8"},
    {DType::kInt16, 2, "int16", "int16"},
    {DType::kInt8, 1, "int8", "int8"},
    {DType::kString, sizeof(std::string), "string", "string"},
    {DType::kComplex64, 8, "complex64", "complex64"},
    {DType::kInt64, 8, "int64", "int64"},
    {DType::kBool, 1, "bool", "bool"},
    {DType::kUInt16, 2, "uint16", "uint16"},
    {DType::kHalf, 2, "float16", "half"},
    {DType::kResource, 0, "resource", "resource"},
    {DType::kUInt32, 4, "uint32", "uint32"},
    {DType::kUInt64, 8, "uint64", "uint64"},
};

const Row* find(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

}  // namespace

size_t dtype_size(DType dtype) {
  // On the path of every Tensor::bytes(): no loop for the common types.
  if (dtype == DType::kFloat || dtype == DType::kInt32) return 4;
  const Row* row = find(dtype);
  return row ? row->size : 0;
}

std::string_view dtype_name(DType dtype) {
  const Row* row = find(dtype);
  return row ? row->name : "invalid";
}

DType dtype_from_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name || row.alias == name) return row.dtype;
  }
  throw invalid_argument("\"{}\" is not an element type", name);
}

bool dtype_known(int number) { return number > 0 && number < 256 && find(DType(number)); }

bool is_floating(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf;
}

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
    case DType::kUInt8:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kInt64:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64: return true;
    default: return false;
  }
}

}  // namespace capstan
