#include "jobs/duck/functions.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/error.h"
#include "jobs/duck/vectors.h"

namespace capstan::duck {
namespace {

using script::Function;
using script::FunctionValue;

// Rows of the chunk without a null in any argument, or in a list that is one.
std::vector<uint32_t> whole_rows(const Api& api, const Function& function,
                                 const std::vector<Vector>& vectors, uint64_t all) {
  std::vector<bool> whole(all, true);
  for (size_t i = 0; i < vectors.size(); ++i) {
    const NullFinder nulls(api, vectors[i], function.arguments[i]);
    for (uint64_t row = 0; nulls.any() && row < all; ++row) {
      if (nulls.at(row)) whole[row] = false;
    }
  }
  std::vector<uint32_t> rows;
  rows.reserve(all);
  for (uint32_t row = 0; row < all; ++row) {
    if (whole[row]) rows.push_back(row);
  }
  return rows;
}

void call(const Api& api, const Function& function, Chunk input, Vector output) {
  uint64_t all = api.data_chunk_get_size(input);
  std::vector<Vector> vectors;
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    vectors.push_back(api.data_chunk_get_vector(input, i));
  }
  std::vector<uint32_t> rows = whole_rows(api, function, vectors, all);
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < vectors.size(); ++i) {
    arguments.push_back(to_tensor(api, vectors[i], function.arguments[i], rows));
  }
  std::vector<Tensor> results;
  if (rows.empty()) {
    for (const FunctionValue& value : function.results) {
      results.emplace_back(value.dtype, Shape{0, value.width});
    }
  } else {
    results = function.call(arguments);
  }
  if (results.size() != function.results.size()) {
    throw internal_error("{} gave {} results instead of {}", function.name, results.size(),
                         function.results.size());
  }
  bool single = results.size() == 1;
  for (size_t i = 0; i < results.size(); ++i) {
    Vector out = single ? output : api.struct_vector_get_child(output, i);
    from_tensor(api, results[i], function.results[i], rows, all, out);
  }
}

// What DuckDB calls; it must not see an exception.
void call_guarded(CallInfo info, Chunk input, Vector output) {
  const Api& api = loaded_api();
  auto* function = static_cast<Function*>(api.scalar_function_get_extra_info(info));
  try {
    call(api, *function, input, output);
  } catch (...) {
    std::string text = current_error().message();
    // Those that the script layer made for itself have names that tell nobody anything.
    if (!function->name.starts_with(script::kOwnFunctionPrefix))
      text = function->name + ": " + text;
    api.scalar_function_set_error(info, text.c_str());
  }
}

Type result_type(const Api& api, const std::vector<FunctionValue>& results) {
  if (results.size() == 1) return type_of(api, results[0]);
  std::vector<Type> types;
  std::vector<const char*> names;
  for (const FunctionValue& value : results) {
    types.push_back(type_of(api, value));
    names.push_back(value.name.c_str());
  }
  Type type = api.create_struct_type(types.data(), names.data(), types.size());
  for (Type& member : types) api.destroy_logical_type(&member);
  return type;
}

void check(const Function& function) {
  if (function.arguments.empty()) throw invalid_argument("{} takes nothing", function.name);
  if (function.results.empty()) throw invalid_argument("{} gives nothing", function.name);
  for (const FunctionValue& value : function.arguments) sql_type(value.dtype);
  for (const FunctionValue& value : function.results) sql_type(value.dtype);
}

// The name that scripts call casts its arguments and calls the function itself.
std::string macro_of(const Function& function, const std::string& inner) {
  std::string names, casts;
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const FunctionValue& value = function.arguments[i];
    const char* separator = i ? ", " : "";
    names += fmt::format("{}a{}", separator, i);
    casts += fmt::format("{}CAST(a{} AS {}{})", separator, i, sql_type(value.dtype),
                         value.width > 0 ? "[]" : "");
  }
  return fmt::format("CREATE OR REPLACE MACRO main.{}({}) AS main.{}({})", sql_name(function.name),
                     names, sql_name(inner), casts);
}

}  // namespace

void add_sql_function(Link& link, Function function) {
  check(function);
  static std::atomic<int> made{0};
  const Api& api = link.api();
  std::string inner = fmt::format("__{}_{}", function.name, ++made);
  std::string macro = macro_of(function, inner);
  ScalarFunction scalar = api.create_scalar_function();
  api.scalar_function_set_name(scalar, inner.c_str());
  for (const FunctionValue& value : function.arguments) {
    Type type = type_of(api, value);
    api.scalar_function_add_parameter(scalar, type);
    api.destroy_logical_type(&type);
  }
  Type type = result_type(api, function.results);
  api.scalar_function_set_return_type(scalar, type);
  api.destroy_logical_type(&type);
  // Nulls are ours: whoever has one is not handed over.
  api.scalar_function_set_special_handling(scalar);
  api.scalar_function_set_function(scalar, call_guarded);
  std::string name = function.name;
  api.scalar_function_set_extra_info(scalar, new Function(std::move(function)),
                                     [](void* held) { delete static_cast<Function*>(held); });
  State state = api.register_scalar_function(link.raw(), scalar);
  api.destroy_scalar_function(&scalar);
  if (state != State::kOk) throw invalid_argument("{} cannot become a function of SQL", name);
  link.run(macro);
}

}  // namespace capstan::duck
