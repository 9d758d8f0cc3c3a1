#pragma once

// DuckDB's C functions that we call, found in its shared library when the first script needs them:
// a program that runs no SQL neither loads nor needs it. Only this file knows their types; they are
// those of DuckDB's stable C interface (docs/decisions/0019).

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace capstan::duck {

// Handles; what they point to is DuckDB's.
using Database = struct DatabaseBody*;
using Connection = struct ConnectionBody*;
using Config = struct ConfigBody*;
using Statements = struct StatementsBody*;
using Prepared = struct PreparedBody*;
using Pending = struct PendingBody*;
using Chunk = struct ChunkBody*;
using Vector = struct VectorBody*;
using Type = struct TypeBody*;
using Appender = struct AppenderBody*;
using ScalarFunction = struct ScalarFunctionBody*;
using TableFunction = struct TableFunctionBody*;
using BindInfo = struct BindInfoBody*;
using InitInfo = struct InitInfoBody*;
using CallInfo = struct CallInfoBody*;

struct RawResult {
  uint64_t deprecated[3];
  void* deprecated_columns;
  char* deprecated_error;
  void* body;
};

// What a VARCHAR vector holds: up to 12 bytes in place, longer ones elsewhere.
struct StringValue {
  uint32_t length;
  char inlined[12];
};

inline std::string_view string_view_of(const StringValue& value) {
  if (value.length <= sizeof value.inlined) return {value.inlined, value.length};
  const char* elsewhere;
  std::memcpy(&elsewhere, value.inlined + 4, sizeof elsewhere);
  return {elsewhere, value.length};
}

struct ListEntry {
  uint64_t offset, length;
};

enum class State : int { kOk = 0, kError = 1 };

enum class TypeId : int {
  kBoolean = 1,
  kTinyInt = 2,
  kSmallInt = 3,
  kInteger = 4,
  kBigInt = 5,
  kUTinyInt = 6,
  kUSmallInt = 7,
  kUInteger = 8,
  kUBigInt = 9,
  kFloat = 10,
  kDouble = 11,
  kHugeInt = 16,
  kVarchar = 17,
  kDecimal = 19,
  kList = 24,
  kStruct = 25,
  kMap = 26,
  kUnion = 28,
  kUHugeInt = 32,
  kArray = 33,
  kBigNum = 35,
};

enum class StatementKind : int { kSelect = 1, kInsert = 2, kCreate = 7 };

using BindCall = void (*)(BindInfo);
using InitCall = void (*)(InitInfo);
using TableCall = void (*)(CallInfo, Chunk);
using ScalarCall = void (*)(CallInfo, Chunk, Vector);
using Release = void (*)(void*);

// One row per function: what it returns, its name without "duckdb_", its arguments.
#define CAPSTAN_DUCKDB_FUNCTIONS(F)                                                    \
  F(const char*, library_version, (void))                                              \
  F(State, create_config, (Config*))                                                   \
  F(State, set_config, (Config, const char*, const char*))                             \
  F(void, destroy_config, (Config*))                                                   \
  F(State, open_ext, (const char*, Database*, Config, char**))                         \
  F(void, close, (Database*))                                                          \
  F(void, free, (void*))                                                               \
  F(State, connect, (Database, Connection*))                                           \
  F(void, disconnect, (Connection*))                                                   \
  F(void, interrupt, (Connection))                                                     \
  F(uint64_t, extract_statements, (Connection, const char*, Statements*))              \
  F(const char*, extract_statements_error, (Statements))                               \
  F(State, prepare_extracted_statement, (Connection, Statements, uint64_t, Prepared*)) \
  F(void, destroy_extracted, (Statements*))                                            \
  F(const char*, prepare_error, (Prepared))                                            \
  F(void, destroy_prepare, (Prepared*))                                                \
  F(StatementKind, prepared_statement_type, (Prepared))                                \
  F(State, bind_varchar_length, (Prepared, uint64_t, const char*, uint64_t))           \
  F(State, pending_prepared, (Prepared, Pending*))                                     \
  F(State, pending_prepared_streaming, (Prepared, Pending*))                           \
  F(const char*, pending_error, (Pending))                                             \
  F(State, execute_pending, (Pending, RawResult*))                                     \
  F(void, destroy_pending, (Pending*))                                                 \
  F(const char*, result_error, (RawResult*))                                           \
  F(void, destroy_result, (RawResult*))                                                \
  F(Chunk, fetch_chunk, (RawResult))                                                   \
  F(uint64_t, column_count, (RawResult*))                                              \
  F(const char*, column_name, (RawResult*, uint64_t))                                  \
  F(Type, column_logical_type, (RawResult*, uint64_t))                                 \
  F(TypeId, column_type, (RawResult*, uint64_t))                                       \
  F(void, destroy_data_chunk, (Chunk*))                                                \
  F(uint64_t, data_chunk_get_size, (Chunk))                                            \
  F(void, data_chunk_set_size, (Chunk, uint64_t))                                      \
  F(uint64_t, data_chunk_get_column_count, (Chunk))                                    \
  F(Vector, data_chunk_get_vector, (Chunk, uint64_t))                                  \
  F(void*, vector_get_data, (Vector))                                                  \
  F(uint64_t*, vector_get_validity, (Vector))                                          \
  F(void, vector_ensure_validity_writable, (Vector))                                   \
  F(void, vector_assign_string_element_len, (Vector, uint64_t, const char*, uint64_t)) \
  F(void, vector_reference_vector, (Vector, Vector))                                   \
  F(Vector, list_vector_get_child, (Vector))                                           \
  F(State, list_vector_reserve, (Vector, uint64_t))                                    \
  F(State, list_vector_set_size, (Vector, uint64_t))                                   \
  F(Vector, array_vector_get_child, (Vector))                                          \
  F(Vector, struct_vector_get_child, (Vector, uint64_t))                               \
  F(Type, create_logical_type, (TypeId))                                               \
  F(Type, create_list_type, (Type))                                                    \
  F(Type, create_struct_type, (Type*, const char**, uint64_t))                         \
  F(TypeId, get_type_id, (Type))                                                       \
  F(char*, logical_type_get_alias, (Type))                                             \
  F(Type, list_type_child_type, (Type))                                                \
  F(Type, array_type_child_type, (Type))                                               \
  F(uint64_t, array_type_array_size, (Type))                                           \
  F(uint64_t, struct_type_child_count, (Type))                                         \
  F(char*, struct_type_child_name, (Type, uint64_t))                                   \
  F(Type, struct_type_child_type, (Type, uint64_t))                                    \
  F(Type, map_type_key_type, (Type))                                                   \
  F(Type, map_type_value_type, (Type))                                                 \
  F(void, destroy_logical_type, (Type*))                                               \
  F(State, appender_create, (Connection, const char*, const char*, Appender*))         \
  F(State, appender_destroy, (Appender*))                                              \
  F(State, appender_close, (Appender))                                                 \
  F(const char*, appender_error, (Appender))                                           \
  F(State, appender_end_row, (Appender))                                               \
  F(State, append_bool, (Appender, bool))                                              \
  F(State, append_int64, (Appender, int64_t))                                          \
  F(State, append_double, (Appender, double))                                          \
  F(State, append_varchar_length, (Appender, const char*, uint64_t))                   \
  F(State, append_null, (Appender))                                                    \
  F(ScalarFunction, create_scalar_function, (void))                                    \
  F(void, destroy_scalar_function, (ScalarFunction*))                                  \
  F(void, scalar_function_set_name, (ScalarFunction, const char*))                     \
  F(void, scalar_function_add_parameter, (ScalarFunction, Type))                       \
  F(void, scalar_function_set_return_type, (ScalarFunction, Type))                     \
  F(void, scalar_function_set_special_handling, (ScalarFunction))                      \
  F(void, scalar_function_set_extra_info, (ScalarFunction, void*, Release))            \
  F(void*, scalar_function_get_extra_info, (CallInfo))                                 \
  F(void, scalar_function_set_function, (ScalarFunction, ScalarCall))                  \
  F(void, scalar_function_set_error, (CallInfo, const char*))                          \
  F(State, register_scalar_function, (Connection, ScalarFunction))                     \
  F(TableFunction, create_table_function, (void))                                      \
  F(void, destroy_table_function, (TableFunction*))                                    \
  F(void, table_function_set_name, (TableFunction, const char*))                       \
  F(void, table_function_set_extra_info, (TableFunction, void*, Release))              \
  F(void, table_function_set_bind, (TableFunction, BindCall))                          \
  F(void, table_function_set_init, (TableFunction, InitCall))                          \
  F(void, table_function_set_function, (TableFunction, TableCall))                     \
  F(State, register_table_function, (Connection, TableFunction))                       \
  F(void*, bind_get_extra_info, (BindInfo))                                            \
  F(void, bind_add_result_column, (BindInfo, const char*, Type))                       \
  F(void, bind_set_error, (BindInfo, const char*))                                     \
  F(void*, function_get_extra_info, (CallInfo))                                        \
  F(void, function_set_error, (CallInfo, const char*))

struct Api {
#define CAPSTAN_DUCKDB_MEMBER(result, name, arguments) result(*name) arguments = nullptr;
  CAPSTAN_DUCKDB_FUNCTIONS(CAPSTAN_DUCKDB_MEMBER)
#undef CAPSTAN_DUCKDB_MEMBER
};

// The version that the interface above was checked against, and that tools/fetch_duckdb.py gets.
constexpr const char* kDuckdbVersion = "v1.5.6";

// Stays loaded. Thread-safe. Throws FailedPrecondition that says what is missing and how to get it.
const Api& load_api(const std::string& library);
// The one that is loaded, for functions that DuckDB calls back: it hands them nothing to find it
// by.
const Api& loaded_api();

// Where the library lies for the program at `program`: beside it, in lib/capstan of its prefix (an
// installation, a wheel), or at the top of its build tree. Empty: nowhere.
std::string find_library(const std::string& program);

}  // namespace capstan::duck
