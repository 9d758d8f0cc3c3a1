#pragma once

// A database of DuckDB's, connections to it, and what they answer. Everything here trusts the SQL
// it is given: what scripts write comes through vet.h first.

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/duck/api.h"

namespace capstan::duck {

// Text and identifiers inside SQL.
std::string sql_text(std::string_view text);                  // 'it''s'
std::string sql_list(const std::vector<std::string>& parts);  // parts with commas between
std::string sql_name(std::string_view name);                  // "a ""b"""

// What interrupt() reaches: the connections of one engine, and whether calls shall end.
class Interrupts {
 public:
  explicit Interrupts(const Api& api) : api_(api) {}
  void add(Connection connection);
  void remove(Connection connection);
  void interrupt();  // from any thread
  void resume() { asked_ = false; }
  bool asked() const { return asked_; }
  void check() const;  // throws Cancelled between interrupt() and resume()

 private:
  const Api& api_;
  std::atomic<bool> asked_{false};
  std::mutex mutex_;
  std::vector<Connection> open_;
};

// One answer, read chunk by chunk.
class Result {
 public:
  Result(const Api& api, RawResult raw) : api_(&api), raw_(raw) {}
  Result(Result&& other) noexcept;
  Result& operator=(Result&&) = delete;
  ~Result();

  RawResult* raw() { return &raw_; }
  size_t columns() { return api_->column_count(&raw_); }
  // The next chunk, or null at the end; it lives until the next call. Throws what the query throws.
  Chunk next();
  // Reads to the end, or to the first error, and keeps nothing.
  void drain() noexcept;
  // The first column of each row as text: for our own small questions.
  std::vector<std::string> texts();

 private:
  void drop_chunk();

  const Api* api_;
  RawResult raw_;
  Chunk chunk_ = nullptr;
};

class Link {
 public:
  Link(const Api& api, Database database, Interrupts& interrupts);
  ~Link();
  Link(const Link&) = delete;

  // One statement with text for its $1, $2, … Throws an Error of the code that fits, SqlError where
  // the place is known.
  Result run(const std::string& sql, const std::vector<std::string>& arguments = {});
  // Rows come as they are asked for, not all at once into memory.
  Result stream(const std::string& sql);
  // Throws unless the text is one statement of this kind.
  void check_kind(const std::string& sql, StatementKind kind);

  Connection raw() const { return connection_; }
  const Api& api() const { return api_; }

 private:
  Result run_how(const std::string& sql, const std::vector<std::string>& arguments, bool stream);

  const Api& api_;
  Interrupts& interrupts_;
  Connection connection_ = nullptr;
};

using Setting = std::pair<const char*, std::string>;

// In memory. Settings are applied while it opens.
class Store {
 public:
  Store(const Api& api, const std::vector<Setting>& settings);
  ~Store();
  Store(const Store&) = delete;
  Database raw() const { return database_; }

 private:
  const Api& api_;
  Database database_ = nullptr;
};

}  // namespace capstan::duck
