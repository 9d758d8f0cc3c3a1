#include "jobs/script/tensor_rows.h"

#include <algorithm>

namespace capstan::script {
namespace {

// By blocks of rows, so that a block stays in the cache until its last column is in.
template <class T>
void fill(std::span<const Tensor> columns, Tensor& out) {
  constexpr int64_t kBlock = 256;
  const int64_t rows = out.shape()[0], width = out.shape()[1];
  for (int64_t begin = 0; begin < rows; begin += kBlock) {
    const int64_t end = std::min(rows, begin + kBlock);
    for (int64_t c = 0; c < width; ++c) {
      const T* from = columns[size_t(c)].data<T>();
      T* to = out.data<T>() + c;
      for (int64_t i = begin; i < end; ++i) to[i * width] = from[i];
    }
  }
}

}  // namespace

Tensor side_by_side(std::span<const Tensor> columns) {
  const int64_t rows = columns.empty() ? 0 : columns[0].size();
  const DType dtype = columns.empty() ? DType::kFloat : columns[0].dtype();
  Tensor out(dtype, {rows, int64_t(columns.size())});
  if (dtype == DType::kString) {
    fill<std::string>(columns, out);
    return out;
  }
  switch (dtype_size(dtype)) {
    case 1: fill<uint8_t>(columns, out); break;
    case 2: fill<uint16_t>(columns, out); break;
    case 4: fill<uint32_t>(columns, out); break;
    default: fill<uint64_t>(columns, out); break;
  }
  return out;
}

}  // namespace capstan::script
