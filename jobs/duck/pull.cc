#include "jobs/duck/pull.h"

#include <utility>

#include "base/error.h"

namespace capstan::duck {
namespace {

constexpr const char* kName = "capstan_pull";

}  // namespace

Pull::Pull(Link& link) : link_(link) {
  const Api& api = link.api();
  TableFunction function = api.create_table_function();
  api.table_function_set_name(function, kName);
  api.table_function_set_extra_info(function, this, nullptr);
  api.table_function_set_bind(function, [](BindInfo info) {
    static_cast<Pull*>(loaded_api().bind_get_extra_info(info))->bind(info);
  });
  api.table_function_set_init(function, [](InitInfo) {});
  api.table_function_set_function(function, [](CallInfo info, Chunk out) {
    static_cast<Pull*>(loaded_api().function_get_extra_info(info))->fill(info, out);
  });
  State state = api.register_table_function(link.raw(), function);
  api.destroy_table_function(&function);
  if (state != State::kOk) throw internal_error("DuckDB does not take the table function");
}

void Pull::into(const std::string& table, Result& source,
                const std::function<std::string(const std::string&)>& rename) {
  source_ = &source;
  rename_ = &rename;
  failure_ = nullptr;
  try {
    link_.run(std::string("CREATE TABLE ") + table + " AS SELECT * FROM " + kName + "()");
  } catch (const Error&) {
    source_ = nullptr;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    throw;
  }
  source_ = nullptr;
}

void Pull::bind(BindInfo info) {
  const Api& api = link_.api();
  if (!source_) return api.bind_set_error(info, "nothing is being loaded");
  for (uint64_t i = 0; i < source_->columns(); ++i) {
    Type type = api.column_logical_type(source_->raw(), i);
    std::string name = (*rename_)(api.column_name(source_->raw(), i));
    api.bind_add_result_column(info, name.c_str(), type);
    api.destroy_logical_type(&type);
  }
}

void Pull::fill(CallInfo info, Chunk out) {
  const Api& api = link_.api();
  try {
    Chunk chunk = source_->next();
    uint64_t rows = chunk ? api.data_chunk_get_size(chunk) : 0;
    for (uint64_t i = 0; chunk && i < api.data_chunk_get_column_count(chunk); ++i) {
      api.vector_reference_vector(api.data_chunk_get_vector(out, i),
                                  api.data_chunk_get_vector(chunk, i));
    }
    api.data_chunk_set_size(out, rows);
  } catch (const Error& error) {
    failure_ = std::current_exception();
    api.function_set_error(info, error.message().c_str());
  }
}

}  // namespace capstan::duck
