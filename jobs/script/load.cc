#include <fmt/format.h>

#include "base/nearest.h"
#include "jobs/script/formats.h"
#include "jobs/script/run.h"
#include "jobs/script/system_tables.h"
#include "jobs/script/training_info.h"

namespace capstan::script {
namespace {

// The text of the variable that the path names.
std::string variable_text(const Here& here, const std::string& name, const Place& place) {
  const Templates templates = here.run.templates();
  if (templates.find(name)) return *templates.value(name);
  std::vector<std::string> names;
  for (const Variables* variables : {&here.run.variables, &here.session.variables}) {
    for (const auto& [known, value] : *variables) names.push_back(known);
  }
  throw error_at(place, Code::kNotFound,
                 fmt::format("there is no variable {}{}; set {}='''…''' makes one", shown(name),
                             did_you_mean(name, names), shown(name)));
}

Rows one_cell(std::string text) {
  Rows rows;
  rows.columns = {{"content", "VARCHAR"}};
  rows.rows = {{Cell(std::move(text))}};
  rows.total = 1;
  return rows;
}

// What is wrong with a file is told where the script names it.
template <class Use>
auto at_path(const Place& place, const Use& use) {
  try {
    return use();
  } catch (const Error& error) {
    throw error_at(place, error);
  }
}

Rows system_rows(const Here& here, const Format& format, const std::string& path,
                 const Place& place) {
  if (format.name == "modelList") return system_table(here.session, "et", place);
  if (format.name == "trainingInfo") {
    const std::string folder = here.session.paths.file(path, place);
    return at_path(place, [&] { return training_info_rows(folder); });
  }
  if (format.name == "modelParams") return system_table(here.session, "et/params/" + path, place);
  return system_table(here.session, path, place);
}

// "db1" of `db1.table`, if `connect` made such a name.
void refuse_connected(const Here& here, const std::string& format, const std::string& path,
                      const Place& place) {
  const std::string name = path.substr(0, path.find('.'));
  if (!here.session.connections.contains(format + "." + name)) return;
  throw error_at(
      place, Code::kUnimplemented,
      fmt::format("{0} is connected, but nothing here reads from {1}; export the table to "
                  "a csv, json or parquet file, and load that",
                  shown(name), shown(format)));
}

}  // namespace

void execute(const Here& here, const LoadStatement& statement) {
  const Place at = here.place(statement.from.path);
  const std::string table = here.name(statement.table);
  const std::string name = here.text(statement.from.format);
  const std::string path = here.text(statement.from.path);
  refuse_connected(here, name, path, at);
  const Format& format = find_load_format(name, here.place(statement.from.format));
  const Options options = here.options(statement.options, format.load_options);
  Engine& engine = here.session.engine;
  LoadFrom from{std::string(format.file_format), {}, {}, file_options(options)};
  switch (format.kind) {
    case SourceKind::kFile:
      from.path = here.session.paths.input(path, at);
      at_path(at, [&] { engine.load(from, table); });
      break;
    case SourceKind::kText:
      from.text = variable_text(here, path, at);
      at_path(at, [&] { engine.load(from, table); });
      break;
    case SourceKind::kScript: engine.define(table, one_cell(variable_text(here, path, at))); break;
    case SourceKind::kSystem: engine.define(table, system_rows(here, format, path, at)); break;
  }
  here.session.last_table = table;
}

}  // namespace capstan::script
