#include <fmt/format.h>

#include "base/printable.h"
#include "jobs/script/run.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

constexpr std::string_view kAbsent[] = {"hdfs", "http", "https", "store", "plugin", "lib"};

bool is_template(const Reference& reference) {
  return reference.format.text.find("${") != std::string::npos ||
         reference.path.text.find("${") != std::string::npos;
}

}  // namespace

std::string include_path(const Session& session, const std::string& kind, const std::string& path,
                         const Place& place) {
  for (std::string_view absent : kAbsent) {
    if (!same_word(absent, kind)) continue;
    throw error_at(
        place, Code::kUnimplemented,
        fmt::format("nothing here serves include {}; put the script into a folder of the "
                    "project: include folder.`name.mlsql`",
                    kind));
  }
  return session.paths.script(kind, path, place);
}

void Run::look_ahead(const Script& script, std::span<const Statement> statements) {
  for (const Statement& statement : statements) {
    if (const auto* branches = std::get_if<IfStatement>(&statement.body)) {
      for (const auto& branch : branches->branches) look_ahead(script, branch.body);
    }
    const auto* include = std::get_if<IncludeStatement>(&statement.body);
    if (!include || is_template(include->script)) continue;
    const Reference& from = include->script;
    const Place place = script.place(statement.begin);
    look_into(include_path(session, from.format.text, from.path.text, place), place);
  }
}

// Again only from a deeper level than before: the nesting may be too deep from there.
void Run::look_into(const std::string& path, const Place& place) {
  size_t& deepest = looked_at_[path];
  if (deepest > frames_.size()) return;
  deepest = frames_.size() + 1;
  within({path}, place, [&] {
    const std::shared_ptr<const Script> script = parsed(path, place);
    look_ahead(*script, script->statements);
  });
}

void execute(const Here& here, const IncludeStatement& statement) {
  here.options(statement.options, {});
  const std::string kind = here.text(statement.script.format);
  const std::string path = here.text(statement.script.path);
  here.run.include(include_path(here.session, kind, path, here.place()), here.place());
}

}  // namespace capstan::script
