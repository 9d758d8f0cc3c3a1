// What stands behind a `!`: a command of the table below, or a macro.

#include <fmt/format.h>

#include "base/nearest.h"
#include "jobs/job_shelf.h"
#include "jobs/script/columns.h"
#include "jobs/script/macro.h"
#include "jobs/script/run.h"
#include "jobs/script/system_tables.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

using Arguments = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view usage;
  size_t least, most;  // arguments
  void (*run)(const Here& here, const Arguments& arguments);
};

// `!show jobs`, `!show et params DTF` as well as `!show "et/params/DTF"`.
void show(const Here& here, const Arguments& arguments) {
  const std::string what = fmt::format("{}", fmt::join(arguments, "/"));
  here.answer(system_table(here.session, what, here.place()));
}

void kill(const Here& here, const Arguments& arguments) {
  jobs::JobShelf shelf(posix_files(), here.session.jobs_dir);
  const jobs::ShelvedJob job = shelf.find(arguments[0]);
  if (!job.alive) {
    throw failed_precondition("job {} does not run: it is {}", shown(arguments[0]), job.state());
  }
  shelf.ask_to_stop(job.id);
  here.answer({{{"param", "VARCHAR"}, {"description", "VARCHAR"}}, {}, 0});
}

void desc(const Here& here, const Arguments&) {
  const auto& command = std::get<CommandStatement>(here.statement.body);
  Rows rows;
  rows.columns = {{"col_name", "VARCHAR"}, {"data_type", "VARCHAR"}};
  for (const Column& column : here.session.engine.columns(here.table(command.arguments[0])))
    rows.rows.push_back({column.name, column.type});
  rows.total = int64_t(rows.rows.size());
  here.answer(rows);
}

// `!model list`: the algorithms; `!model list /path`: the versions of a model.
void model(const Here& here, const Arguments& arguments) {
  const std::string& what = arguments[0];
  const std::vector<std::string> known = {"list", "history", "params"};
  const bool has_path = arguments.size() > 1;
  if (what == "list" && !has_path) {
    here.answer(system_table(here.session, "et", here.place()));
  } else if (what == "params" && has_path) {
    here.answer(system_table(here.session, "et/params/" + arguments[1], here.place()));
  } else if ((what == "list" || what == "history") && has_path) {
    const std::string path = here.session.paths.file(arguments[1], here.place());
    here.answer(model_table(path, what == "history"));
  } else {
    throw invalid_argument(
        "!model {} is none of: !model list [path], !model history path, !model "
        "params name{}",
        shown(what), did_you_mean(what, known));
  }
}

void print_line(const Here& here, const Arguments& arguments) {
  here.session.listener.log(fmt::format("{}", fmt::join(arguments, " ")));
}

std::string need_last(const Here& here) {
  if (here.session.last_table.empty())
    throw failed_precondition("no statement before this one has made a table");
  return here.session.last_table;
}

// `!last named t`: the last table once more, under a name.
void last(const Here& here, const Arguments& arguments) {
  const std::string table = need_last(here);
  if (arguments.empty()) return;
  if (arguments.size() == 2 && arguments[0] != "named")
    throw invalid_argument("expected !last named t");
  const auto& command = std::get<CommandStatement>(here.statement.body);
  const std::string name = here.name(command.arguments.back());
  if (!same_word(name, table))
    here.session.engine.select("select * from " + quoted_name(table), name);
  here.session.last_table = name;
}

void last_table_name(const Here& here, const Arguments&) {
  here.run.variables["__last_table_name__"] = {need_last(here)};
}

constexpr Command kCommands[] = {
    {"show", "!show jobs|tables|et|\"et/params/DTF\"|functions|version|datasources", 1, 3, show},
    {"kill", "!kill job", 1, 1, kill},
    {"desc", "!desc table", 1, 1, desc},
    {"model", "!model list [path]|history path|params name", 1, 2, model},
    {"println", "!println '''text'''", 0, SIZE_MAX, print_line},
    {"last", "!last [named table]", 0, 2, last},
    {"lastTableName", "!lastTableName", 0, 0, last_table_name},
};

// Commands of the original that nothing serves here.
constexpr std::string_view kAbsent[] = {
    "hdfs",     "fs",        "cache",    "uncache",         "unCache",         "python",
    "ray",      "plugin",    "resource", "scheduler",       "callback",        "runScript",
    "delta",    "kafkaTool", "profiler", "createPythonEnv", "removePythonEnv", "pyInclude",
    "saveFile", "emptyTable"};

[[noreturn]] void refuse(const Here& here, const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  for (const auto& [macro, unused] : here.run.variables) names.push_back(macro);
  for (std::string_view absent : kAbsent) {
    if (absent == name)
      throw unimplemented("!{} is a command of the original that is not here", name);
  }
  std::string hint = did_you_mean(name, names);
  if (hint.empty())
    hint = fmt::format("; set {}='''…''' would make a macro of that name", shown(name));
  throw not_found("there is no command !{}{}", shown(name), hint);
}

void run_command(const Here& here, const Command& command, const Arguments& arguments) {
  if (arguments.size() < command.least || arguments.size() > command.most)
    throw invalid_argument("expected {}", command.usage);
  command.run(here, arguments);
}

}  // namespace

// A command goes before a macro: a variable named model does not hide !model.
void execute(const Here& here, const CommandStatement& statement) {
  Arguments arguments;
  for (const Text& argument : statement.arguments) arguments.push_back(here.text(argument));
  const std::string& name = statement.name.text;
  for (const Command& command : kCommands) {
    if (same_word(command.name, name)) return run_command(here, command, arguments);
  }
  const Variable* body = here.run.templates().find(name);
  if (!body) refuse(here, name);
  here.run.macro(name, expand_macro(name, body->text, arguments), here.place());
}

}  // namespace capstan::script
