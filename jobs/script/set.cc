#include <fmt/format.h>

#include "jobs/script/run.h"
#include "jobs/script/shell_command.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

constexpr size_t kMostBytes = 256 << 20;  // of all variables

constexpr OptionDef kOptions[] = {
    {"type", OptionType::kChoice, "text",
     "What the value is; defaultParam: it holds unless the variable has one.",
     "text|defaultParam|sql|conf|shell"},
    {"mode", OptionType::kChoice, "runtime", "Of sql: it runs where it stands, in both.",
     "runtime|compile"},
    {"scope", OptionType::kChoice, "request", "session: it outlives the script.",
     "request|session"},
    {"visibility", OptionType::kChoice, "all", "un_select: selects leave its template as written.",
     "all|un_select"},
};

// The first cell of the first row, as text.
std::string answer_of(const Here& here, const Text& query) {
  const Rows rows =
      here.with_sql(query, [&](std::string_view sql) { return here.session.engine.query(sql, 1); });
  const bool any = !rows.rows.empty() && !rows.rows[0].empty();
  return any ? cell_text(rows.rows[0][0]) : std::string();
}

std::string answer_of_shell(const Here& here, const Text& command) {
  if (!here.session.allow_shell) {
    throw error_at(here.place(command), Code::kPermissionDenied,
                   "scripts may not run commands of the shell here");
  }
  const std::string text = here.text(command);
  try {
    return shell_answer(text, [&] { return here.session.stopped(); });
  } catch (const Error& error) {
    throw error_at(here.place(command), error);
  }
}

}  // namespace

void Run::assign(const std::string& name, Variable value, bool session_wide) {
  assigned_bytes_ += value.text.size() - variables[name].text.size();
  if (assigned_bytes_ > kMostBytes)
    throw resource_exhausted("the variables of the script hold more than {} MB", kMostBytes >> 20);
  if (session_wide) {
    variables.erase(name);
    session.variables[name] = std::move(value);
  } else {
    variables[name] = std::move(value);
  }
}

void execute(const Here& here, const SetStatement& statement) {
  const Options options = here.options(statement.options, kOptions);
  const std::string& name = statement.name.text;
  const std::string type = lower(options.text("type"));
  if (type == "conf") {
    here.session.listener.note(
        fmt::format("{}: {} is a setting of another engine, and changes nothing here",
                    here.place().text(), name));
    return;
  }
  if (type == "defaultparam" && here.run.templates().find(name)) return;
  Variable value;
  value.in_select = !same_word(options.text("visibility"), "un_select");
  value.text = type == "sql"     ? answer_of(here, statement.value)
               : type == "shell" ? answer_of_shell(here, statement.value)
                                 : here.text(statement.value);
  here.run.assign(name, std::move(value), same_word(options.text("scope"), "session"));
}

}  // namespace capstan::script
