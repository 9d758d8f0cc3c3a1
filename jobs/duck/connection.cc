#include "jobs/duck/connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "jobs/duck/duck_error.h"

namespace capstan::duck {
namespace {

std::string doubled(std::string_view text, char quote) {
  std::string out(1, quote);
  for (char c : text) out.append(c == quote ? 2 : 1, c);
  return out + quote;
}

// A handle that its own function gives back.
template <class Handle>
struct Held {
  void (*release)(Handle*);
  Handle handle = nullptr;
  ~Held() { release(&handle); }
};

std::string text_or(const char* text, const char* otherwise) { return text ? text : otherwise; }

void prepare(const Api& api, Connection connection, const std::string& sql, Prepared* out) {
  if (sql.find('\0') != sql.npos) throw invalid_argument("SQL holds a zero byte");
  Held<Statements> statements{api.destroy_extracted};
  uint64_t count = api.extract_statements(connection, sql.c_str(), &statements.handle);
  if (count == 0) {
    const char* error = api.extract_statements_error(statements.handle);
    if (!error) throw invalid_argument("there is no statement in the SQL");
    throw_duck_error(error);
  }
  if (count > 1) throw invalid_argument("one statement is expected, not {}", count);
  if (api.prepare_extracted_statement(connection, statements.handle, 0, out) != State::kOk) {
    throw_duck_error(text_or(api.prepare_error(*out), "the statement cannot be prepared"));
  }
}

}  // namespace

std::string sql_text(std::string_view text) { return doubled(text, '\''); }
std::string sql_name(std::string_view name) { return doubled(name, '"'); }

std::string sql_list(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

void Interrupts::add(Connection connection) {
  std::lock_guard lock(mutex_);
  open_.push_back(connection);
}

void Interrupts::remove(Connection connection) {
  std::lock_guard lock(mutex_);
  std::erase(open_, connection);
}

void Interrupts::interrupt() {
  std::lock_guard lock(mutex_);
  asked_ = true;
  for (Connection connection : open_) api_.interrupt(connection);
}

void Interrupts::check() const {
  if (asked()) throw cancelled("the query was interrupted");
}

Result::Result(Result&& other) noexcept
    : api_(other.api_), raw_(other.raw_), chunk_(std::exchange(other.chunk_, nullptr)) {
  other.raw_ = {};
}

Result::~Result() {
  drop_chunk();
  api_->destroy_result(&raw_);
}

void Result::drop_chunk() {
  if (chunk_) api_->destroy_data_chunk(&chunk_);
  chunk_ = nullptr;
}

Chunk Result::next() {
  drop_chunk();
  chunk_ = api_->fetch_chunk(raw_);
  const char* error = chunk_ ? nullptr : api_->result_error(&raw_);
  if (error && *error) throw_duck_error(error);
  if (chunk_ && api_->data_chunk_get_size(chunk_) == 0) drop_chunk();
  return chunk_;
}

void Result::drain() noexcept {
  do {
    drop_chunk();
    chunk_ = api_->fetch_chunk(raw_);
  } while (chunk_ && api_->data_chunk_get_size(chunk_) > 0);
}

std::vector<std::string> Result::texts() {
  std::vector<std::string> out;
  while (Chunk chunk = next()) {
    Vector vector = api_->data_chunk_get_vector(chunk, 0);
    auto* values = static_cast<StringValue*>(api_->vector_get_data(vector));
    for (uint64_t i = 0; i < api_->data_chunk_get_size(chunk); ++i) {
      out.emplace_back(string_view_of(values[i]));
    }
  }
  return out;
}

Link::Link(const Api& api, Database database, Interrupts& interrupts)
    : api_(api), interrupts_(interrupts) {
  if (api_.connect(database, &connection_) != State::kOk) {
    throw internal_error("DuckDB gives no connection");
  }
  interrupts_.add(connection_);
}

Link::~Link() {
  interrupts_.remove(connection_);
  api_.disconnect(&connection_);
}

Result Link::run(const std::string& sql, const std::vector<std::string>& arguments) {
  return run_how(sql, arguments, false);
}

Result Link::stream(const std::string& sql) { return run_how(sql, {}, true); }

Result Link::run_how(const std::string& sql, const std::vector<std::string>& arguments,
                     bool stream) {
  Held<Prepared> prepared{api_.destroy_prepare};
  prepare(api_, connection_, sql, &prepared.handle);
  for (size_t i = 0; i < arguments.size(); ++i) {
    api_.bind_varchar_length(prepared.handle, i + 1, arguments[i].data(), arguments[i].size());
  }
  Held<Pending> pending{api_.destroy_pending};
  auto start = stream ? api_.pending_prepared_streaming : api_.pending_prepared;
  if (start(prepared.handle, &pending.handle) != State::kOk) {
    throw_duck_error(text_or(api_.pending_error(pending.handle), "the query cannot start"));
  }
  // A beginning query forgets an interrupt that came before. It is ended like any other: one that
  // is only dropped would run on when the connection is used again.
  if (interrupts_.asked()) api_.interrupt(connection_);
  RawResult raw{};
  State state = api_.execute_pending(pending.handle, &raw);
  Result result(api_, raw);
  if (state != State::kOk) throw_duck_error(text_or(api_.result_error(result.raw()), "no result"));
  return result;
}

void Link::check_kind(const std::string& sql, StatementKind kind) {
  Held<Prepared> prepared{api_.destroy_prepare};
  prepare(api_, connection_, sql, &prepared.handle);
  if (api_.prepared_statement_type(prepared.handle) != kind) {
    throw permission_denied("this statement is of a kind that scripts may not use here");
  }
}

Store::Store(const Api& api, const std::vector<Setting>& settings) : api_(api) {
  Held<Config> config{api.destroy_config};
  api.create_config(&config.handle);
  for (const auto& [name, value] : settings) {
    if (api.set_config(config.handle, name, value.c_str()) != State::kOk) {
      throw internal_error("DuckDB does not take the setting {} = {}", name, value);
    }
  }
  char* error = nullptr;
  if (api.open_ext(nullptr, &database_, config.handle, &error) != State::kOk) {
    std::string text = text_or(error, "no reason given");
    api.free(error);
    throw internal_error("DuckDB does not open: {}", text);
  }
}

Store::~Store() { api_.close(&database_); }

}  // namespace capstan::duck
