#include "jobs/duck/vectors.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace capstan::duck {
namespace {

using script::FunctionValue;
using Rows = std::vector<uint32_t>;

struct TypePair {
  DType dtype;
  TypeId id;
  const char* name;
};

constexpr TypePair kTypes[] = {
    {DType::kFloat, TypeId::kFloat, "FLOAT"},
    {DType::kDouble, TypeId::kDouble, "DOUBLE"},
    {DType::kInt8, TypeId::kTinyInt, "TINYINT"},
    {DType::kInt16, TypeId::kSmallInt, "SMALLINT"},
    {DType::kInt32, TypeId::kInteger, "INTEGER"},
    {DType::kInt64, TypeId::kBigInt, "BIGINT"},
    {DType::kUInt8, TypeId::kUTinyInt, "UTINYINT"},
    {DType::kUInt16, TypeId::kUSmallInt, "USMALLINT"},
    {DType::kUInt32, TypeId::kUInteger, "UINTEGER"},
    {DType::kUInt64, TypeId::kUBigInt, "UBIGINT"},
    {DType::kBool, TypeId::kBoolean, "BOOLEAN"},
    {DType::kString, TypeId::kVarchar, "VARCHAR"},
};

const TypePair& pair_of(DType dtype) {
  for (const TypePair& pair : kTypes) {
    if (pair.dtype == dtype) return pair;
  }
  throw invalid_argument("a function of SQL takes and gives no {}", dtype_name(dtype));
}

bool valid(const uint64_t* validity, uint64_t row) {
  return !validity || (validity[row / 64] >> (row % 64) & 1);
}

// `count` neighbours from `from` on, as elements `at`… of the tensor.
void copy_in(const void* data, uint64_t from, uint64_t count, uint64_t at, Tensor& out) {
  if (out.dtype() == DType::kString) {
    for (uint64_t i = 0; i < count; ++i) {
      out.data<std::string>()[at + i] =
          string_view_of(static_cast<const StringValue*>(data)[from + i]);
    }
    return;
  }
  size_t size = dtype_size(out.dtype());
  std::memcpy(static_cast<char*>(out.raw()) + at * size,
              static_cast<const char*>(data) + from * size, count * size);
}

void copy_out(const Api& api, const Tensor& tensor, uint64_t at, uint64_t count, uint64_t to,
              Vector vector) {
  if (tensor.dtype() == DType::kString) {
    for (uint64_t i = 0; i < count; ++i) {
      const std::string& text = tensor.data<std::string>()[at + i];
      api.vector_assign_string_element_len(vector, to + i, text.data(), text.size());
    }
    return;
  }
  size_t size = dtype_size(tensor.dtype());
  std::memcpy(static_cast<char*>(api.vector_get_data(vector)) + to * size,
              static_cast<const char*>(tensor.raw()) + at * size, count * size);
}

Tensor lists_to_tensor(const Api& api, Vector vector, const FunctionValue& value,
                       const Rows& rows) {
  auto* entries = static_cast<const ListEntry*>(api.vector_get_data(vector));
  Vector child = api.list_vector_get_child(vector);
  const void* data = api.vector_get_data(child);
  Tensor out(value.dtype, Shape{int64_t(rows.size()), value.width});
  for (size_t i = 0; i < rows.size(); ++i) {
    const ListEntry& entry = entries[rows[i]];
    if (int64_t(entry.length) != value.width) {
      throw invalid_argument("{} has {} numbers where {} are expected", value.name, entry.length,
                             value.width);
    }
    copy_in(data, entry.offset, entry.length, i * uint64_t(value.width), out);
  }
  return out;
}

void mark_nulls(const Api& api, const Rows& rows, uint64_t all, Vector out) {
  if (rows.size() == all) return;
  api.vector_ensure_validity_writable(out);
  uint64_t* validity = api.vector_get_validity(out);
  std::fill_n(validity, (all + 63) / 64, 0);
  for (uint32_t row : rows) validity[row / 64] |= uint64_t(1) << (row % 64);
}

void fill_lists(const Api& api, const Tensor& tensor, const FunctionValue& value, const Rows& rows,
                uint64_t all, Vector out) {
  uint64_t size = tensor.size();
  api.list_vector_reserve(out, size);
  api.list_vector_set_size(out, size);
  auto* entries = static_cast<ListEntry*>(api.vector_get_data(out));
  std::fill_n(entries, all, ListEntry{0, 0});
  for (size_t i = 0; i < rows.size(); ++i) {
    entries[rows[i]] = {i * uint64_t(value.width), uint64_t(value.width)};
  }
  copy_out(api, tensor, 0, size, 0, api.list_vector_get_child(out));
}

}  // namespace

const char* sql_type(DType dtype) { return pair_of(dtype).name; }

Type type_of(const Api& api, const FunctionValue& value) {
  Type type = api.create_logical_type(pair_of(value.dtype).id);
  if (value.width == 0) return type;
  Type list = api.create_list_type(type);
  api.destroy_logical_type(&type);
  return list;
}

NullFinder::NullFinder(const Api& api, Vector vector, const FunctionValue& value)
    : validity_(api.vector_get_validity(vector)) {
  if (value.width == 0) return;
  inside_ = api.vector_get_validity(api.list_vector_get_child(vector));
  lists_ = static_cast<const ListEntry*>(api.vector_get_data(vector));
}

bool NullFinder::at(uint64_t row) const {
  if (!valid(validity_, row)) return true;
  if (!inside_) return false;
  for (uint64_t i = lists_[row].offset; i < lists_[row].offset + lists_[row].length; ++i) {
    if (!valid(inside_, i)) return true;
  }
  return false;
}

Tensor to_tensor(const Api& api, Vector vector, const FunctionValue& value, const Rows& rows) {
  if (value.width > 0) return lists_to_tensor(api, vector, value, rows);
  Tensor out(value.dtype, Shape{int64_t(rows.size())});
  const void* data = api.vector_get_data(vector);
  bool whole = !rows.empty() && rows.back() + 1 == rows.size();
  if (whole) {
    copy_in(data, 0, rows.size(), 0, out);
  } else {
    for (size_t i = 0; i < rows.size(); ++i) copy_in(data, rows[i], 1, i, out);
  }
  return out;
}

void from_tensor(const Api& api, const Tensor& tensor, const FunctionValue& value, const Rows& rows,
                 uint64_t all, Vector out) {
  int64_t width = std::max<int64_t>(1, value.width);
  if (tensor.dtype() != value.dtype || tensor.size() != int64_t(rows.size()) * width) {
    throw internal_error("{}: a tensor {} {} for {} rows of {} {}", value.name,
                         dtype_name(tensor.dtype()), tensor.shape(), rows.size(), width,
                         dtype_name(value.dtype));
  }
  mark_nulls(api, rows, all, out);
  if (value.width > 0) return fill_lists(api, tensor, value, rows, all, out);
  if (rows.size() == all) return copy_out(api, tensor, 0, all, 0, out);
  for (size_t i = 0; i < rows.size(); ++i) copy_out(api, tensor, i, 1, rows[i], out);
}

}  // namespace capstan::duck
