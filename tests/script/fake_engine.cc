#include "script/fake_engine.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "jobs/json_text.h"
#include "jobs/script/sql_error.h"
#include "jobs/script/words.h"
#include "script/fake_sql.h"

namespace capstan::script {
namespace {

std::string option(const LoadFrom& from, std::string_view key, std::string standard) {
  for (const auto& [name, value] : from.options) {
    if (name == key) return value;
  }
  return standard;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> fields_of(const std::string& line, const std::string& delimiter) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t end; (end = line.find(delimiter, begin)) != line.npos; begin = end + delimiter.size())
    out.push_back(line.substr(begin, end - begin));
  out.push_back(line.substr(begin));
  return out;
}

Rows csv_rows(const std::string& text, const LoadFrom& from) {
  Rows rows;
  const std::string delimiter = option(from, "delimiter", ",");
  bool header = same_word(option(from, "header", "false"), "true");
  if (delimiter.empty()) throw invalid_argument("the delimiter is empty");
  for (const std::string& line : lines_of(text)) {
    if (line.empty()) continue;
    const std::vector<std::string> fields = fields_of(line, delimiter);
    for (size_t i = rows.columns.size(); i < fields.size(); ++i)
      rows.columns.push_back({header ? fields[i] : "_c" + std::to_string(i), "VARCHAR"});
    if (!std::exchange(header, false)) {
      rows.rows.emplace_back(fields.begin(), fields.end());
      rows.rows.back().resize(rows.columns.size());
    }
  }
  return rows;
}

Cell cell_of(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? Cell() : Cell(value.dump());
}

Rows json_rows(const std::string& text) {
  Rows rows;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (trimmed(line).empty()) continue;
    const auto object = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!object.is_object()) throw data_loss("line {} is no JSON object", number);
    for (const auto& [key, value] : object.items()) {
      auto same = [&](const Column& column) { return column.name == key; };
      if (std::ranges::none_of(rows.columns, same)) rows.columns.push_back({key, "VARCHAR"});
    }
    std::vector<Cell> row;
    for (const Column& column : rows.columns)
      row.push_back(object.contains(column.name) ? cell_of(object[column.name]) : Cell());
    rows.rows.push_back(std::move(row));
  }
  for (auto& row : rows.rows) row.resize(rows.columns.size());
  return rows;
}

Rows text_rows(const std::string& text) {
  Rows rows;
  rows.columns = {{"value", "VARCHAR"}};
  for (const std::string& line : lines_of(text)) rows.rows.push_back({Cell(line)});
  return rows;
}

std::string read_path(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return posix_files().read(path);
  std::string all;
  for (const std::string& name : posix_files().list(path))
    all += posix_files().read(path + "/" + name);
  return all;
}

std::string json_line(const Rows& rows, const std::vector<Cell>& row) {
  nlohmann::ordered_json object;
  for (size_t i = 0; i < row.size(); ++i) {
    auto& field = object[rows.columns[i].name];
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, Number>)
            field = nlohmann::ordered_json::parse(value.digits);
          else if constexpr (!std::is_same_v<Value, std::monostate>)
            field = value;
        },
        row[i]);
  }
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

const FakeEngine::Table& FakeEngine::find(const std::string& table) const {
  auto found = tables_.find(lower(table));
  if (found == tables_.end()) throw not_found("there is no table {}", table);
  return found->second;
}

Rows FakeEngine::run(std::string_view sql) const {
  return run_query(sql, [&](const std::string& name) -> const Rows& { return find(name).rows; });
}

void FakeEngine::load(const LoadFrom& from, const std::string& table) {
  if (disk_ == kWithoutFiles && !from.path.empty()) throw unavailable("there is no disk");
  const std::string text = from.path.empty() ? from.text : read_path(from.path);
  Rows rows = from.format == "csv"    ? csv_rows(text, from)
              : from.format == "text" ? text_rows(text)
                                      : json_rows(text);
  rows.total = int64_t(rows.rows.size());
  define(table, rows);
}

void FakeEngine::define(const std::string& table, const Rows& rows) {
  tables_[lower(table)] = {rows, 1};
  names_[lower(table)] = table;
}

void FakeEngine::select(std::string_view sql, const std::string& table) { define(table, run(sql)); }

// `drop table t`, `create table t as select …`, `insert into t select …`, `refresh table t`.
void FakeEngine::execute(std::string_view sql) {
  std::istringstream in{std::string(sql)};
  std::string verb, what, name, rest;
  in >> verb >> what >> name;
  std::getline(in, rest, '\0');
  const size_t select = lower(rest).find("select");
  if (same_word(verb, "refresh")) return;
  if (same_word(verb, "drop")) return drop(name);
  if (select == rest.npos) throw SqlError(Code::kInvalidArgument, "expected a select", sql.size());
  Rows rows = run(std::string_view(rest).substr(select));
  if (same_word(verb, "create")) return define(name, rows);
  find(name);
  Rows& into = tables_[lower(name)].rows;
  into.rows.insert(into.rows.end(), rows.rows.begin(), rows.rows.end());
  into.total = int64_t(into.rows.size());
}

// One folder per table, `part-<n>` inside; every format is JSON lines but csv.
void FakeEngine::save(const std::string& table, const SaveTo& to) {
  const Rows rows = find(table).rows;
  if (disk_ == kWithoutFiles) throw unavailable("there is no disk");
  const bool exists = std::filesystem::exists(to.path);
  if (exists && to.mode == SaveMode::kIgnore) return;
  if (exists && to.mode == SaveMode::kErrorIfExists) throw already_exists("{} exists", to.path);
  if (to.mode == SaveMode::kOverwrite) std::filesystem::remove_all(to.path);
  posix_files().make_dirs(to.path);
  const size_t before = posix_files().list(to.path).size();
  for (int i = 0; i < to.file_num; ++i) {
    auto file = posix_files().create(to.path + "/part-" + std::to_string(before + size_t(i)));
    for (size_t row = size_t(i); row < rows.rows.size(); row += size_t(to.file_num))
      file->append(json_line(rows, rows.rows[row]));
    file->close();
  }
}

void FakeEngine::drop(const std::string& table) {
  find(table);
  tables_.erase(lower(table));
  names_.erase(lower(table));
}

std::vector<std::string> FakeEngine::tables() const {
  std::vector<std::string> out;
  for (const auto& [key, name] : names_) out.push_back(name);
  return out;
}

std::vector<Column> FakeEngine::columns(const std::string& table) const {
  return find(table).rows.columns;
}

Rows FakeEngine::rows(const std::string& table, int64_t limit) const {
  Rows rows = find(table).rows;
  rows.total = int64_t(rows.rows.size());
  if (limit >= 0 && rows.total > limit) rows.rows.resize(size_t(limit));
  return rows;
}

// Two rows at a time.
std::unique_ptr<RowReader> FakeEngine::read(const std::string& table) const {
  struct Reader : RowReader {
    explicit Reader(Rows all) : all(std::move(all)) {}
    Rows next() override {
      Rows out{all.columns, {}, all.total, int64_t(at)};
      for (; at < all.rows.size() && out.rows.size() < 2; ++at) out.rows.push_back(all.rows[at]);
      return out;
    }
    const Rows all;
    size_t at = 0;
  };
  return std::make_unique<Reader>(rows(table, -1));
}

Rows FakeEngine::query(std::string_view sql, int64_t limit) {
  Rows rows = run(sql);
  if (limit >= 0 && int64_t(rows.rows.size()) > limit) rows.rows.resize(size_t(limit));
  return rows;
}

int FakeEngine::partitions(const std::string& table) const { return find(table).partitions; }

void FakeEngine::repartition(const std::string& table, int count, const std::string& result) {
  Table copy = find(table);
  copy.partitions = count;
  tables_[lower(result)] = std::move(copy);
  names_[lower(result)] = result;
}

std::vector<Shard> FakeEngine::write_shards(const std::string&, const std::string&,
                                            const std::string&) {
  throw unimplemented("no shards here");
}

}  // namespace capstan::script
