#include "jobs/script/system_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "base/version.h"
#include "jobs/job_shelf.h"
#include "jobs/script/algorithm.h"
#include "jobs/script/formats.h"
#include "jobs/script/model_store.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

constexpr size_t kLongestMeta = 1 << 20;

Rows rows_of(std::initializer_list<std::string_view> columns, std::vector<std::vector<Cell>> rows) {
  Rows out;
  for (std::string_view column : columns) {
    const size_t colon = column.find(':');
    const std::string type(colon == column.npos ? "VARCHAR" : column.substr(colon + 1));
    out.columns.push_back({std::string(column.substr(0, colon)), type});
  }
  out.total = int64_t(rows.size());
  out.rows = std::move(rows);
  return out;
}

Cell text(std::string_view value) { return Cell(std::string(value)); }

std::vector<Cell> job_row(const Session& session, const jobs::ShelvedJob& job) {
  if (!job.record) {
    return {session.owner, text("train"), text(""), job.problem,
            job.id,        job.state(),   Cell(),   Cell()};
  }
  const jobs::JobRecord& record = *job.record;
  return {session.owner,
          text("train"),
          record.name,
          fmt::format("{}", fmt::join(record.command, " ")),
          job.id,
          job.state(),
          Cell(int64_t(jobs::progress_of(record).step)),
          *format_date(record.created, "yyyy-MM-dd HH:mm:ss")};
}

Rows job_rows(Session& session, std::string_view which, const Place& place) {
  const jobs::JobShelf shelf(posix_files(), session.jobs_dir);
  std::vector<jobs::ShelvedJob> jobs;
  for (std::string_view prefix : {"v2/", "get/"}) {
    if (which.starts_with(prefix)) which.remove_prefix(prefix.size());
  }
  try {
    if (which.empty())
      jobs = shelf.list();
    else
      jobs.push_back(shelf.find(std::string(which)));
  } catch (const Error& error) {
    throw error_at(place, error);
  }
  std::vector<std::vector<Cell>> rows;
  for (const jobs::ShelvedJob& job : jobs) rows.push_back(job_row(session, job));
  return rows_of(
      {"owner", "jobType", "jobName", "jobContent", "groupId", "state", "step:BIGINT", "startTime"},
      std::move(rows));
}

// Tables that nobody named are nobody's business.
Rows table_rows(Session& session, std::string_view, const Place&) {
  std::vector<std::string> tables = session.engine.tables();
  std::ranges::sort(tables);
  std::vector<std::vector<Cell>> rows;
  for (const std::string& table : tables) {
    if (table.starts_with(kFreshNamePrefix)) continue;
    rows.push_back({table, int64_t(session.engine.partitions(table))});
  }
  return rows_of({"tableName", "partitions:BIGINT"}, std::move(rows));
}

Rows algorithm_rows() {
  std::vector<std::vector<Cell>> rows;
  for (const Algorithm* row : all_algorithms()) {
    rows.push_back({text(row->name), row->train != nullptr, row->predict != nullptr,
                    row->enroll != nullptr, text(row->doc)});
  }
  return rows_of({"name", "train:BOOLEAN", "predict:BOOLEAN", "register:BOOLEAN", "doc"},
                 std::move(rows));
}

std::string_view type_name(OptionType type) {
  switch (type) {
    case OptionType::kText: return "text";
    case OptionType::kInt: return "integer";
    case OptionType::kNumber: return "number";
    case OptionType::kBool: return "true|false";
    case OptionType::kChoice: return "choice";
  }
  return "";
}

void add_options(std::vector<std::vector<Cell>>& rows, std::string_view statement,
                 std::span<const OptionDef> options) {
  for (const OptionDef& def : options) {
    const bool choice = def.type == OptionType::kChoice;
    rows.push_back({text(def.key), text(def.doc), text(choice ? def.choices : type_name(def.type)),
                    text(def.standard), def.required, text(statement)});
  }
}

// `which`: "params/DTF", or nothing.
Rows et_rows(Session&, std::string_view which, const Place& place) {
  constexpr std::string_view kParams = "params/";
  if (!which.starts_with(kParams)) return algorithm_rows();
  const Algorithm& algorithm = find_algorithm(which.substr(kParams.size()), place);
  std::vector<std::vector<Cell>> rows;
  add_options(rows, "train", algorithm.train_options);
  add_options(rows, "predict", algorithm.predict_options);
  add_options(rows, "register", algorithm.enroll_options);
  return rows_of({"param", "description", "type", "default", "required:BOOLEAN", "statement"},
                 std::move(rows));
}

Rows function_rows(Session& session, std::string_view, const Place&) {
  std::vector<std::vector<Cell>> rows;
  for (const std::string& name : session.engine.functions()) rows.push_back({text(name)});
  return rows_of({"function"}, std::move(rows));
}

Rows version_rows(Session&, std::string_view, const Place&) {
  return rows_of({"version"}, {{text(version())}});
}

Rows format_rows(Session&, std::string_view, const Place&) {
  std::vector<std::vector<Cell>> rows;
  for (const Format& format : all_formats())
    rows.push_back({text(format.name), true, format.saves, text(format.doc)});
  return rows_of({"name", "load:BOOLEAN", "save:BOOLEAN", "doc"}, std::move(rows));
}

struct SystemTable {
  std::string_view name;
  Rows (*rows)(Session& session, std::string_view which, const Place& place);
  bool with_part = false;  // "jobs/<id>"
};

constexpr SystemTable kTables[] = {
    {"jobs", job_rows, true},     {"tables", table_rows},    {"et", et_rows, true},
    {"functions", function_rows}, {"version", version_rows}, {"datasources", format_rows},
};

std::string meta_text(const ModelVersion& model) {
  const auto info = posix_files().stat(model.meta());
  return info && info->size <= kLongestMeta ? posix_files().read(model.meta()) : std::string();
}

}  // namespace

Rows system_table(Session& session, const std::string& name, const Place& place) {
  const size_t slash = std::min(name.find('/'), name.size());
  const std::string first = name.substr(0, slash);
  const std::string part = slash < name.size() ? name.substr(slash + 1) : std::string();
  std::vector<std::string> names;
  for (const SystemTable& table : kTables) {
    if (same_word(table.name, first) && (part.empty() || table.with_part))
      return table.rows(session, part, place);
    names.emplace_back(table.name);
  }
  std::string hint = did_you_mean(lower(first), names);
  if (hint.empty()) hint = fmt::format("; there are {}, et/params/<name>", fmt::join(names, ", "));
  throw error_at(place, Code::kNotFound,
                 fmt::format("there is nothing to show of {}{}", shown(name), hint));
}

Rows model_table(const std::string& path, bool history) {
  std::vector<std::vector<Cell>> rows;
  for (const ModelVersion& model : model_versions(path)) {
    rows.push_back({model.number ? Cell(int64_t(*model.number)) : Cell(), model.folder});
    if (history) rows.back().push_back(meta_text(model));
  }
  if (history) return rows_of({"version:BIGINT", "modelPath", "meta"}, std::move(rows));
  return rows_of({"version:BIGINT", "modelPath"}, std::move(rows));
}

}  // namespace capstan::script
