#include "kernel/strided.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace capstan {
namespace {

// Row-major strides of `operand` over the dimensions of `shape`, before merging.
Strides broadcast_strides(const Shape& operand, const Shape& shape) {
  const int shift = shape.rank() - operand.rank();
  if (shift < 0) throw invalid_argument("cannot broadcast {} to {}", operand, shape);
  Strides strides{};
  int64_t stride = 1;
  for (int i = operand.rank() - 1; i >= 0; --i) {
    if (operand[i] != 1 && operand[i] != shape[i + shift]) {
      throw invalid_argument("cannot broadcast {} to {}", operand, shape);
    }
    strides[size_t(i + shift)] = operand[i] == 1 ? 0 : stride;
    stride *= operand[i];
  }
  return strides;
}

// Whether dimension d can be joined with the merged one before it, for every operand.
bool joins(const MergedDims& merged, std::span<const Strides> strides, int d, int64_t dim) {
  if (merged.rank == 0) return false;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (merged.strides[i][size_t(merged.rank - 1)] != strides[i][size_t(d)] * dim) return false;
  }
  return true;
}

template <class T>
void fill_typed(void* out, const void* value, int64_t n) {
  T element;
  std::memcpy(&element, value, sizeof element);
  std::fill_n(static_cast<T*>(out), n, element);
}

template <class T>
void gather_typed(const MergedDims& dims, const Strides& strides, const void* data, int64_t first,
                  int64_t rows, void* out) {
  const int64_t inner = dims.inner();
  const bool copies = dims.rank > 0 && strides[size_t(dims.rank - 1)] != 0;
  auto* target = static_cast<T*>(out);
  for (int64_t row = first; row < first + rows; ++row, target += inner) {
    const T* source = static_cast<const T*>(data) + row_offset(dims, strides, row);
    if (copies) {
      std::copy_n(source, inner, target);
    } else {
      std::fill_n(target, inner, *source);
    }
  }
}

}  // namespace

MergedDims merge_dims(std::span<const Shape* const> operands, const Shape& shape) {
  std::vector<Strides> strides;
  for (const Shape* operand : operands) strides.push_back(broadcast_strides(*operand, shape));
  MergedDims merged;
  merged.strides.resize(operands.size());
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    const bool join = joins(merged, strides, d, shape[d]);
    if (!join) ++merged.rank;
    const auto last = size_t(merged.rank - 1);
    merged.dims[last] = join ? merged.dims[last] * shape[d] : shape[d];
    for (size_t i = 0; i < strides.size(); ++i) merged.strides[i][last] = strides[i][size_t(d)];
  }
  return merged;
}

int64_t row_offset(const MergedDims& dims, const Strides& strides, int64_t row) {
  if (dims.rank <= 2) return dims.rank == 2 ? row * strides[0] : 0;
  int64_t offset = 0;
  for (int d = dims.rank - 2; d >= 0; --d) {
    offset += row % dims.dims[size_t(d)] * strides[size_t(d)];
    row /= dims.dims[size_t(d)];
  }
  return offset;
}

void fill_elements(void* out, const void* value, size_t element_size, int64_t n) {
  switch (element_size) {
    case 1: return fill_typed<uint8_t>(out, value, n);
    case 2: return fill_typed<uint16_t>(out, value, n);
    case 4: return fill_typed<uint32_t>(out, value, n);
    case 8: return fill_typed<uint64_t>(out, value, n);
    default: throw internal_error("no elements of {} bytes", element_size);
  }
}

void repeat_row(void* out, const void* row, size_t row_bytes, int64_t rows) {
  if (rows <= 0) return;
  auto* target = static_cast<char*>(out);
  std::memcpy(target, row, row_bytes);
  // What is there doubles until it is enough.
  for (int64_t have = 1; have < rows; have *= 2) {
    const int64_t more = std::min(have, rows - have);
    std::memcpy(target + size_t(have) * row_bytes, target, size_t(more) * row_bytes);
  }
}

void gather_rows(const MergedDims& dims, const Strides& strides, const void* data,
                 size_t element_size, int64_t first, int64_t rows, void* out) {
  switch (element_size) {
    case 1: return gather_typed<uint8_t>(dims, strides, data, first, rows, out);
    case 2: return gather_typed<uint16_t>(dims, strides, data, first, rows, out);
    case 4: return gather_typed<uint32_t>(dims, strides, data, first, rows, out);
    case 8: return gather_typed<uint64_t>(dims, strides, data, first, rows, out);
    default: throw internal_error("no elements of {} bytes", element_size);
  }
}

}  // namespace capstan
