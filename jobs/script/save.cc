#include "jobs/script/formats.h"
#include "jobs/script/run.h"

namespace capstan::script {
namespace {

std::string_view mode_name(SaveMode mode) {
  switch (mode) {
    case SaveMode::kErrorIfExists: return "errorIfExists";
    case SaveMode::kOverwrite: return "overwrite";
    case SaveMode::kAppend: return "append";
    case SaveMode::kIgnore: return "ignore";
  }
  return "";
}

Rows report(const std::string& table, const Format& format, const std::string& path,
            SaveMode mode) {
  Rows rows;
  for (std::string_view column : {"table", "format", "path", "mode"})
    rows.columns.push_back({std::string(column), "VARCHAR"});
  rows.rows = {{table, std::string(format.name), path, std::string(mode_name(mode))}};
  rows.total = 1;
  return rows;
}

}  // namespace

void execute(const Here& here, const SaveStatement& statement) {
  const std::string table = here.table(statement.table);
  const Format& format =
      find_save_format(here.text(statement.to.format), here.place(statement.to.format));
  const Options options = here.options(statement.options, format.save_options);
  const std::string path = here.text(statement.to.path);
  SaveTo to;
  to.format = format.file_format;
  to.path = here.session.paths.file(path, here.place(statement.to.path));
  to.mode = statement.mode;
  to.file_num = int(std::min<int64_t>(options.integer("fileNum"), 100'000));
  for (const Text& column : statement.partition_by) to.partition_by.push_back(here.name(column));
  to.options = file_options(options);
  std::erase_if(to.options, [](const auto& option) { return option.first == "fileNum"; });
  here.session.engine.save(table, to);
  here.answer(report(table, format, path, statement.mode));
}

}  // namespace capstan::script
