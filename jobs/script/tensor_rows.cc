#include "jobs/script/tensor_rows.h"

namespace capstan::script {
namespace {

template <class T>
struct Tag {
  using type = T;
};

template <class F>
void for_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat: return f(Tag<float>());
    case DType::kDouble: return f(Tag<double>());
    case DType::kInt8: return f(Tag<int8_t>());
    case DType::kInt16: return f(Tag<int16_t>());
    case DType::kInt32: return f(Tag<int32_t>());
    case DType::kInt64: return f(Tag<int64_t>());
    case DType::kUInt8: return f(Tag<uint8_t>());
    case DType::kUInt16: return f(Tag<uint16_t>());
    case DType::kUInt32: return f(Tag<uint32_t>());
    case DType::kBool: return f(Tag<bool>());
    default: throw invalid_argument("{} is no type of a column", dtype_name(dtype));
  }
}

// Column by column into rows; in blocks, so that the rows of one stay in the cache until its last
// column is in.
template <class From, class To>
void put_column(const From* from, To* to, int64_t rows, int64_t step) {
  for (int64_t i = 0; i < rows; ++i) to[i * step] = static_cast<To>(from[i]);
}

// What does not fit into a whole number is the caller's error: it is not cut in silence.
template <class From, class To>
void check_range(const From* from, int64_t size, DType dtype) {
  if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool> && sizeof(To) < 8) {
    for (int64_t i = 0; i < size; ++i) {
      const bool fits = double(from[i]) >= double(std::numeric_limits<To>::min()) &&
                        double(from[i]) <= double(std::numeric_limits<To>::max());
      if (!fits) throw invalid_argument("{} does not fit into {}", from[i], dtype_name(dtype));
    }
  }
}

void put(const Tensor& from, Tensor& to, int64_t column, int64_t step, int64_t begin, int64_t end) {
  for_type(from.dtype(), [&](auto from_tag) {
    for_type(to.dtype(), [&](auto to_tag) {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      const From* source = from.data<From>() + begin;
      check_range<From, To>(source, end - begin, to.dtype());
      put_column(source, to.data<To>() + begin * step + column, end - begin, step);
    });
  });
}

}  // namespace

Tensor converted(const Tensor& from, DType dtype) {
  if (from.dtype() == dtype) return from;
  Tensor to(dtype, from.shape());
  put(from, to, 0, 1, 0, from.size());
  return to;
}

Tensor side_by_side(std::span<const Tensor> columns, DType dtype) {
  constexpr int64_t kBlock = 256;
  const int64_t rows = columns.empty() ? 0 : columns[0].size();
  const int64_t width = int64_t(columns.size());
  Tensor to(dtype, {rows, width});
  for (int64_t begin = 0; begin < rows; begin += kBlock) {
    const int64_t end = std::min(rows, begin + kBlock);
    for (int64_t c = 0; c < width; ++c) put(columns[size_t(c)], to, c, width, begin, end);
  }
  return to;
}

DType column_dtype(DType dtype, std::string_view what) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kDouble: return DType::kDouble;
    case DType::kBool: return DType::kBool;
    default: break;
  }
  if (is_integer(dtype) && dtype != DType::kUInt64) return DType::kInt64;
  throw invalid_argument("{} is {}: columns of numbers are all that models take and give here",
                         what, dtype_name(dtype));
}

}  // namespace capstan::script
