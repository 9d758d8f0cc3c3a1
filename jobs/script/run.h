#pragma once

// One run of a script: what its statements share. Internal to jobs/script.

#include <fmt/format.h>

#include <map>
#include <span>

#include "jobs/script/ast.h"
#include "jobs/script/interpreter.h"
#include "jobs/script/options.h"
#include "jobs/script/sql_error.h"
#include "jobs/script/variables.h"

namespace capstan::script {

// An error that needs no other place.
class PlacedError : public Error {
 public:
  explicit PlacedError(const Error& error) : Error(error) {}
};

class Run {
 public:
  Run(Session& session, const RunOptions& options) : session(session), options(options) {}

  Session& session;
  const RunOptions& options;
  Variables variables;

  Templates templates() const;
  // Of the script, or of the session. Throws ResourceExhausted for more than fits.
  void assign(const std::string& name, Variable value, bool session_wide);
  void script(Source source);
  void statements(const Script& script, std::span<const Statement> statements);
  // ``include demo.`x` `` and `!m …`, met at `place`.
  void include(const std::string& path, const Place& place);
  void macro(const std::string& name, std::string body, const Place& place);
  // The last table goes to the listener.
  void report();

 private:
  void report_all();
  struct Frame {
    std::string name;  // path of a script, or "!name"
    bool macro = false;
  };

  void statement(const Script& script, const Statement& statement);
  void count(const Place& place);
  // Throws for a name that is open already, and for too many of them.
  void check_chain(const Frame& frame, const Place& place) const;
  // Runs `inside` in a frame of its own; errors tell where it was entered.
  template <class Inside>
  void within(Frame frame, const Place& from, Inside inside);
  std::shared_ptr<const Script> parsed(const std::string& path, const Place& from);
  // Parses what the script includes, as far as that is known before it runs.
  void look_ahead(const Script& script, std::span<const Statement> statements);
  void look_into(const std::string& path, const Place& place);

  std::vector<Frame> frames_;
  size_t nested_statements_ = 0;
  size_t assigned_bytes_ = 0;
  std::map<std::string, std::shared_ptr<const Script>> scripts_;  // by path
  std::map<std::string, size_t> looked_at_;  // by path: the deepest level, from 1
};

// One statement, and what its texts mean when it runs.
class Here {
 public:
  Run& run;
  Session& session;
  const Script& script;
  const Statement& statement;

  Place place() const { return script.place(statement.begin); }
  Place place(const Text& text) const { return script.place(text.at); }
  // Templates replaced.
  std::string text(const Text& text) const;
  Rendered rendered(const Text& text, bool select = false) const;
  // A text that may be the name of a table, a function or a column.
  std::string name(const Text& text) const;
  // The name of a table that is there; NotFound with the nearest.
  std::string table(const Text& text) const;
  bool has_table(std::string_view name) const;
  Options options(const GivenOptions& given, std::span<const OptionDef> known) const;
  // `use` is called with SQL whose templates were replaced; its errors point into the script.
  template <class Use>
  auto with_sql(const Text& sql, Use use) const;
  // A table that nobody named becomes the last one.
  void answer(const Rows& rows) const;

 private:
  [[noreturn]] void sql_failed(const Text& sql, const Rendered& rendered, const Error& error,
                               std::optional<size_t> offset) const;
};

void execute(const Here& here, const LoadStatement& statement);
void execute(const Here& here, const SaveStatement& statement);
void execute(const Here& here, const SelectStatement& statement);
void execute(const Here& here, const RawSqlStatement& statement);
void execute(const Here& here, const SetStatement& statement);
void execute(const Here& here, const ConnectStatement& statement);
void execute(const Here& here, const TrainStatement& statement);
void execute(const Here& here, const RegisterStatement& statement);
void execute(const Here& here, const UnregisterStatement& statement);
void execute(const Here& here, const IncludeStatement& statement);
void execute(const Here& here, const CommandStatement& statement);
void execute(const Here& here, const IfStatement& statement);

// Whether the condition of an `!if` holds.
bool holds(const Here& here, const Text& condition);

// Where ``include kind.`path` `` leads. Throws for kinds that nobody serves.
std::string include_path(const Session& session, const std::string& kind, const std::string& path,
                         const Place& place);

template <class Inside>
void Run::within(Frame frame, const Place& from, Inside inside) {
  check_chain(frame, from);
  const std::string_view how = frame.macro ? "called at" : "included at";
  frames_.push_back(std::move(frame));
  try {
    inside();
  } catch (const Error& error) {
    frames_.pop_back();
    throw PlacedError(
        Error(error.code(), fmt::format("{}\n{} {}", error.message(), how, from.text())));
  }
  frames_.pop_back();
}

template <class Use>
auto Here::with_sql(const Text& sql, Use use) const {
  const Rendered text = rendered(sql, true);
  try {
    return use(std::string_view(text.text));
  } catch (const SqlError& error) {
    sql_failed(sql, text, error, error.offset());
  } catch (const Error& error) {
    sql_failed(sql, text, error, std::nullopt);
  }
}

}  // namespace capstan::script
