#include "jobs/duck/cell_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/task_channel.h"
#include "jobs/duck/connection.h"

namespace capstan::duck {
namespace {

using script::Cell;
using script::Number;
using Manner = CellType::Manner;

struct PlainType {
  TypeId id;
  const char* sql;
};

constexpr PlainType kPlain[] = {
    {TypeId::kBoolean, "BOOLEAN"},     {TypeId::kTinyInt, "TINYINT"},
    {TypeId::kSmallInt, "SMALLINT"},   {TypeId::kInteger, "INTEGER"},
    {TypeId::kBigInt, "BIGINT"},       {TypeId::kUTinyInt, "UTINYINT"},
    {TypeId::kUSmallInt, "USMALLINT"}, {TypeId::kUInteger, "UINTEGER"},
    {TypeId::kFloat, "FLOAT"},         {TypeId::kDouble, "DOUBLE"},
};

// Numbers that no cell holds but as text.
constexpr TypeId kWide[] = {TypeId::kDecimal, TypeId::kUBigInt, TypeId::kHugeInt, TypeId::kUHugeInt,
                            TypeId::kBigNum};

bool is_json(const Api& api, Type type) {
  char* alias = api.logical_type_get_alias(type);
  const bool json = alias && std::string_view(alias) == "JSON";
  api.free(alias);
  return json;
}

// A type that DuckDB gave us, and takes back.
class OwnType {
 public:
  OwnType(const Api& api, Type type) : api_(api), type_(type) {}
  ~OwnType() { api_.destroy_logical_type(&type_); }
  OwnType(const OwnType&) = delete;
  operator Type() const { return type_; }

 private:
  const Api& api_;
  Type type_;
};

CellType nested(TypeId id, std::vector<CellType> parts) {
  CellType out{.id = id, .parts = std::move(parts)};
  for (const CellType& part : out.parts) out.is_cast |= part.is_cast;
  return out;
}

CellType list_of(const Api& api, Type type) {
  CellType out =
      nested(TypeId::kList, {CellType::of(api, OwnType(api, api.list_type_child_type(type)))});
  out.sql = out.parts[0].sql + "[]";
  return out;
}

CellType array_of(const Api& api, Type type) {
  CellType out =
      nested(TypeId::kArray, {CellType::of(api, OwnType(api, api.array_type_child_type(type)))});
  out.length = api.array_type_array_size(type);
  out.sql = fmt::format("{}[{}]", out.parts[0].sql, out.length);
  return out;
}

CellType struct_of(const Api& api, Type type) {
  std::vector<CellType> parts;
  std::vector<std::string> fields, members;
  for (uint64_t i = 0; i < api.struct_type_child_count(type); ++i) {
    parts.push_back(CellType::of(api, OwnType(api, api.struct_type_child_type(type, i))));
    char* name = api.struct_type_child_name(type, i);
    fields.emplace_back(name);
    api.free(name);
    members.push_back(sql_name(fields.back()) + " " + parts.back().sql);
  }
  CellType out = nested(TypeId::kStruct, std::move(parts));
  out.fields = std::move(fields);
  out.sql = fmt::format("STRUCT({})", sql_list(members));
  return out;
}

// Names in JSON are text.
CellType map_of(const Api& api, Type type) {
  const OwnType key(api, api.map_type_key_type(type));
  CellType text{.is_cast = api.get_type_id(key) != TypeId::kVarchar, .sql = "VARCHAR"};
  CellType value = CellType::of(api, OwnType(api, api.map_type_value_type(type)));
  CellType out = nested(TypeId::kMap, {std::move(text), std::move(value)});
  out.sql = fmt::format("MAP(VARCHAR, {})", out.parts[1].sql);
  return out;
}

// The vectors of one chunk for a type and its parts.
struct Source {
  Source(const Api& api, const CellType& type, Vector vector)
      : type(type), data(api.vector_get_data(vector)), validity(api.vector_get_validity(vector)) {
    switch (type.id) {
      case TypeId::kList:
        parts.emplace_back(api, type.parts[0], api.list_vector_get_child(vector));
        break;
      case TypeId::kArray:
        parts.emplace_back(api, type.parts[0], api.array_vector_get_child(vector));
        break;
      case TypeId::kMap: add_members(api, api.list_vector_get_child(vector)); break;
      case TypeId::kStruct: add_members(api, vector); break;
      default: break;
    }
  }

  void add_members(const Api& api, Vector vector) {
    for (size_t i = 0; i < type.parts.size(); ++i)
      parts.emplace_back(api, type.parts[i], api.struct_vector_get_child(vector, i));
  }

  bool is_null(uint64_t row) const { return validity && !(validity[row / 64] >> (row % 64) & 1); }
  template <class T>
  const T& at(uint64_t row) const {
    return static_cast<const T*>(data)[row];
  }
  std::string_view text(uint64_t row) const { return string_view_of(at<StringValue>(row)); }

  const CellType& type;
  const void* data;
  const uint64_t* validity;
  std::vector<Source> parts;
};

int64_t whole(const Source& source, uint64_t row) {
  switch (source.type.id) {
    case TypeId::kTinyInt: return source.at<int8_t>(row);
    case TypeId::kSmallInt: return source.at<int16_t>(row);
    case TypeId::kInteger: return source.at<int32_t>(row);
    case TypeId::kBigInt: return source.at<int64_t>(row);
    case TypeId::kUTinyInt: return source.at<uint8_t>(row);
    case TypeId::kUSmallInt: return source.at<uint16_t>(row);
    case TypeId::kUInteger: return source.at<uint32_t>(row);
    default: throw internal_error("a cell of DuckDB's type {}", int(source.type.id));
  }
}

// On one line: line breaks in JSON stand only where a space may.
std::string json_line(std::string_view json) {
  std::string out(json);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return out;
}

void add_json(const Source& source, uint64_t row, std::string& out);

void add_list(const Source& items, uint64_t begin, uint64_t count, std::string& out) {
  out += '[';
  for (uint64_t i = 0; i < count; ++i) {
    if (i) out += ',';
    add_json(items, begin + i, out);
  }
  out += ']';
}

void add_struct(const Source& source, uint64_t row, std::string& out) {
  for (size_t i = 0; i < source.parts.size(); ++i) {
    out += i ? "," : "{";
    out += json_quote(source.type.fields[i]) + ":";
    add_json(source.parts[i], row, out);
  }
  out += '}';
}

void add_map(const Source& source, const ListEntry& entry, std::string& out) {
  out += '{';
  for (uint64_t i = entry.offset; i < entry.offset + entry.length; ++i) {
    if (i > entry.offset) out += ',';
    out += json_quote(source.parts[0].text(i)) + ":";
    add_json(source.parts[1], i, out);
  }
  out += '}';
}

void add_text(const Source& source, uint64_t row, std::string& out) {
  switch (source.type.manner) {
    case Manner::kPlain: out += json_quote(source.text(row)); break;
    case Manner::kDigits: out += source.text(row); break;
    case Manner::kJson: out += json_line(source.text(row)); break;
  }
}

// JSON has no NaN and no infinity.
std::string finite(auto value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

void add_json(const Source& source, uint64_t row, std::string& out) {
  if (source.is_null(row)) {
    out += "null";
    return;
  }
  switch (source.type.id) {
    case TypeId::kBoolean: out += source.at<bool>(row) ? "true" : "false"; break;
    case TypeId::kFloat: out += finite(source.at<float>(row)); break;
    case TypeId::kDouble: out += finite(source.at<double>(row)); break;
    case TypeId::kVarchar: add_text(source, row, out); break;
    case TypeId::kList: {
      const auto& entry = source.at<ListEntry>(row);
      add_list(source.parts[0], entry.offset, entry.length, out);
      break;
    }
    case TypeId::kArray:
      add_list(source.parts[0], row * source.type.length, source.type.length, out);
      break;
    case TypeId::kStruct: add_struct(source, row, out); break;
    case TypeId::kMap: add_map(source, source.at<ListEntry>(row), out); break;
    default: out += fmt::format("{}", whole(source, row));
  }
}

// The shortest text of a float is shorter than that of the double which is the same number.
Cell float_cell(float value) {
  if (!std::isfinite(value)) return double(value);
  return Number{fmt::format("{}", value)};
}

Cell text_cell(const Source& source, uint64_t row) {
  switch (source.type.manner) {
    case Manner::kDigits: return Number{std::string(source.text(row))};
    case Manner::kJson: return json_line(source.text(row));
    default: return std::string(source.text(row));
  }
}

Cell json_cell(const Source& source, uint64_t row) {
  std::string out;
  add_json(source, row, out);
  return out;
}

Cell cell(const Source& source, uint64_t row) {
  if (source.is_null(row)) return {};
  switch (source.type.id) {
    case TypeId::kBoolean: return source.at<bool>(row);
    case TypeId::kFloat: return float_cell(source.at<float>(row));
    case TypeId::kDouble: return source.at<double>(row);
    case TypeId::kVarchar: return text_cell(source, row);
    case TypeId::kList:
    case TypeId::kArray:
    case TypeId::kStruct:
    case TypeId::kMap: return json_cell(source, row);
    default: return whole(source, row);
  }
}

}  // namespace

CellType CellType::of(const Api& api, Type type) {
  const TypeId id = api.get_type_id(type);
  if (id == TypeId::kList) return list_of(api, type);
  if (id == TypeId::kArray) return array_of(api, type);
  if (id == TypeId::kStruct) return struct_of(api, type);
  if (id == TypeId::kMap) return map_of(api, type);
  if (id == TypeId::kUnion) return {.manner = Manner::kJson, .is_cast = true, .sql = "JSON"};
  for (const PlainType& plain : kPlain) {
    if (plain.id == id) return {.id = id, .sql = plain.sql};
  }
  CellType text{.is_cast = id != TypeId::kVarchar, .sql = "VARCHAR"};
  if (id == TypeId::kVarchar && is_json(api, type)) {
    text.manner = Manner::kJson;
    text.sql = "JSON";
  }
  const bool wide = std::find(std::begin(kWide), std::end(kWide), id) != std::end(kWide);
  if (wide) text.manner = Manner::kDigits;
  return text;
}

void append_cells(const Api& api, const std::vector<CellType>& types, Chunk chunk,
                  std::vector<std::vector<Cell>>& rows) {
  const size_t begin = rows.size(), count = api.data_chunk_get_size(chunk);
  rows.resize(begin + count, std::vector<Cell>(types.size()));
  for (size_t column = 0; column < types.size(); ++column) {
    const Source source(api, types[column], api.data_chunk_get_vector(chunk, column));
    for (size_t row = 0; row < count; ++row) rows[begin + row][column] = cell(source, row);
  }
}

}  // namespace capstan::duck
