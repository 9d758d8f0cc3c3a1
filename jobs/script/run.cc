#include "jobs/script/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/printable.h"
#include "jobs/script/parser.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

// Of includes, and of macros that call macros.
constexpr size_t kDeepest = 10;
constexpr size_t kMostNested = 100'000;

std::string read_script(const std::string& path) {
  Files& files = posix_files();
  const auto info = files.stat(path);
  if (info && info->size > kLongestScript) throw script_too_long(info->size);
  return files.read(path);
}

// As people name it: below home without home.
std::string shown_path(const std::string& path, const std::string& home) {
  const std::string prefix = home.ends_with('/') ? home : home + "/";
  return path.starts_with(prefix) ? path.substr(prefix.size()) : path;
}

// "train data as DTF.`/tmp/tf/model`": the first line of a statement.
std::string headline(std::string_view text) {
  const std::string line = printable(text.substr(0, text.find('\n')));
  return line.size() > 60 ? line.substr(0, 60) + "…" : line;
}

}  // namespace

Templates Run::templates() const {
  return Templates(variables, session.variables,
                   Surroundings{session.clock(), session.paths.home(), session.owner});
}

void Run::script(Source source) {
  const Script script = parse(std::make_shared<const Source>(std::move(source)));
  look_ahead(script, script.statements);
  statements(script, script.statements);
}

void Run::statements(const Script& script, std::span<const Statement> statements) {
  for (size_t i = 0; i < statements.size(); ++i) {
    const Place place = script.place(statements[i].begin);
    if (session.stopped())
      throw PlacedError(error_at(place, Code::kCancelled, "the script was stopped before this"));
    count(place);
    session.listener.progress(
        fmt::format("{}/{} {}", i + 1, statements.size(), headline(script.text(statements[i]))));
    statement(script, statements[i]);
  }
}

// Includes and macros multiply: a few lines could run for ever.
void Run::count(const Place& place) {
  if (frames_.empty() || ++nested_statements_ <= kMostNested) return;
  throw PlacedError(error_at(
      place, Code::kResourceExhausted,
      fmt::format("macros and included scripts run more than {} statements", kMostNested)));
}

void Run::statement(const Script& script, const Statement& statement) {
  const Here here{*this, session, script, statement};
  try {
    std::visit([&](const auto& body) { execute(here, body); }, statement.body);
  } catch (const PlacedError&) {
    throw;
  } catch (...) {
    const Error error = current_error();
    throw PlacedError(tells_place(error, here.place()) ? error : error_at(here.place(), error));
  }
}

void Run::check_chain(const Frame& frame, const Place& place) const {
  std::vector<std::string> chain;
  bool cycle = false;
  for (const Frame& open : frames_) {
    if (open.macro != frame.macro) continue;
    cycle = cycle || open.name == frame.name;
    chain.push_back(shown_path(open.name, session.paths.home()));
  }
  chain.push_back(shown_path(frame.name, session.paths.home()));
  if (!cycle && chain.size() <= kDeepest) return;
  const std::string what =
      cycle ? (frame.macro ? "this macro calls itself" : "this script includes itself")
            : fmt::format("{} are nested more than {} deep", frame.macro ? "macros" : "includes",
                          kDeepest);
  throw PlacedError(error_at(place, Code::kInvalidArgument,
                             fmt::format("{}: {}", what, fmt::join(chain, " → "))));
}

std::shared_ptr<const Script> Run::parsed(const std::string& path, const Place& from) {
  std::shared_ptr<const Script>& script = scripts_[path];
  if (script) return script;
  auto source = std::make_shared<Source>(Source{shown_path(path, session.paths.home()), {}});
  try {
    source->text = read_script(path);
  } catch (const Error& error) {
    throw error_at(from, error);
  }
  return script = std::make_shared<const Script>(parse(std::move(source)));
}

void Run::include(const std::string& path, const Place& place) {
  within({path}, place, [&] {
    const std::shared_ptr<const Script> script = parsed(path, place);
    if (!looked_at_.contains(path)) look_ahead(*script, script->statements);
    statements(*script, script->statements);
  });
}

void Run::macro(const std::string& name, std::string body, const Place& place) {
  within({"!" + name, true}, place, [&] {
    const Script script =
        parse(std::make_shared<const Source>(Source{"!" + name, std::move(body)}), true);
    look_ahead(script, script.statements);
    statements(script, script.statements);
  });
}

void Run::report() {
  if (session.last_table.empty()) return;
  const std::vector<std::string> tables = session.engine.tables();
  const bool there = std::ranges::any_of(
      tables, [&](const std::string& table) { return same_word(table, session.last_table); });
  // It may have been dropped since.
  if (!there) return;
  if (options.result_rows < 0) return report_all();
  session.listener.result(session.last_table,
                          session.engine.rows(session.last_table, options.result_rows));
}

void Run::report_all() {
  const std::unique_ptr<RowReader> reader = session.engine.read(session.last_table);
  Rows rows = reader->next();
  session.listener.result(session.last_table, rows);
  while (!rows.rows.empty()) {
    if (session.stopped()) throw cancelled("the script was stopped before all rows were out");
    rows = reader->next();
    if (!rows.rows.empty()) session.listener.result(session.last_table, rows);
  }
}

void run_script(Session& session, Source script, const RunOptions& options) {
  session.last_table.clear();
  Run run(session, options);
  run.script(std::move(script));
  run.report();
}

}  // namespace capstan::script
