#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/nearest.h"
#include "jobs/duck/read_options.h"
#include "jobs/duck/write_files.h"
#include "jobs/random_hex.h"

namespace capstan::duck {
namespace {

namespace fs = std::filesystem;
using script::SaveMode;
using script::SaveTo;

// Gone at the end of the scope, unless it was moved away.
struct Staging {
  std::string folder;
  ~Staging() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
};

bool contains(const std::vector<std::string>& names, const std::string& wanted) {
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& name) { return lower(name) == lower(wanted); });
}

// One folder per value of the columns.
void write_by_value(Core& core, const Tables& tables, const std::string& stored, const SaveTo& to,
                    const std::string& folder, const std::string& mark) {
  std::vector<std::string> names, keys, packed;
  for (const script::Column& column : tables.columns(stored)) {
    names.push_back(column.name);
    std::string name = sql_name(column.name);
    if (!contains(to.partition_by, column.name)) packed.push_back(fmt::format("{0} := {0}", name));
  }
  for (const std::string& wanted : to.partition_by) {
    if (!contains(names, wanted)) {
      throw invalid_argument("partitionBy {}: there is no such column{}", wanted,
                             did_you_mean(wanted, names));
    }
    keys.push_back(sql_name(wanted));
  }
  if (packed.empty()) {
    throw invalid_argument("partitionBy names all columns: nothing is left to be written");
  }
  std::string query = "SELECT * FROM " + stored, options = write_options(to.format, to.options);
  if (to.format == "json") {
    // DuckDB cuts no JSON by value; lines of JSON are CSV of one column in which no sign counts.
    query = fmt::format("SELECT CAST(to_json(struct_pack({})) AS VARCHAR), {} FROM {}",
                        sql_list(packed), sql_list(keys), stored);
    options = "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\n', " +
              pack_options(to.format, to.options);
  }
  core.link.run(fmt::format(
      "COPY ({}) TO {} ({}, PARTITION_BY ({}), FILE_EXTENSION '{}', FILENAME_PATTERN "
      "'part-{}-{{i}}', OVERWRITE_OR_IGNORE)",
      query, sql_text(folder), options, sql_list(keys), file_ending(to.format, to.options), mark));
}

void write_parts(Core& core, const Tables& tables, const std::string& stored, const SaveTo& to,
                 const std::string& folder) {
  std::string mark = jobs::random_hex(4);
  if (!to.partition_by.empty()) return write_by_value(core, tables, stored, to, folder, mark);
  const std::string ending = file_ending(to.format, to.options);
  std::vector<std::string> paths;
  for (int i = 0; i < std::max(1, to.file_num); ++i) {
    paths.push_back(fmt::format("{}/part-{:05}-{}.{}", folder, i, mark, ending));
  }
  write_slices(core, tables, stored, write_options(to.format, to.options), paths);
}

void append_files(const std::string& from, const std::string& to, jobs::FolderKeeper* keeper) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
    if (entry.is_directory()) continue;
    fs::path place = to / fs::relative(entry.path(), from);
    fs::create_directories(place.parent_path());
    move_into_place(entry.path(), place, keeper);
  }
}

// At every moment the old folder or the new one stands there whole.
void replace(const std::string& from, const std::string& to, jobs::FolderKeeper* keeper) {
  const jobs::ScratchFolder beside = folder_beside(to, keeper);
  const std::string whole = beside.path() + "/whole";
  move_into_place(from, whole, keeper);
  if (renameat2(AT_FDCWD, whole.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  // No exchange here. Whoever is killed now leaves the old one, under this name.
  const std::string old = fmt::format("{}.old-{}", to, jobs::random_hex(4));
  fs::rename(to, old);
  fs::rename(whole, to);
  fs::remove_all(old);
}

// Of ours, and of Spark's.
constexpr std::string_view kLeftBySaves[] = {
    "part-", "_SUCCESS", "_metadata", "_common_metadata", "_started_", "_committed_"};

bool by_a_save(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename();
  if (entry.is_directory()) return name.find('=') != name.npos;
  if (name.starts_with(".") && name.ends_with(".crc")) return true;
  return std::any_of(std::begin(kLeftBySaves), std::end(kLeftBySaves),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

// An overwrite removes what stood there: only what a save has left, here or elsewhere, may go.
void check_replaceable(const std::string& folder) {
  if (!fs::is_directory(folder)) return;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (by_a_save(entry)) continue;
    throw failed_precondition(
        "{} holds {}, which no save has written: it is not overwritten; save to a folder of its "
        "own",
        folder, fs::relative(entry.path(), folder).string());
  }
}

}  // namespace

void save_table(Core& core, const Tables& tables, const std::string& stored, const SaveTo& given) {
  SaveTo to = given;
  while (to.path.size() > 1 && to.path.ends_with('/')) to.path.pop_back();
  write_options(to.format, to.options);
  std::error_code error;
  bool exists = fs::exists(fs::symlink_status(to.path, error));
  if (exists && to.mode == SaveMode::kIgnore) return;
  if (exists && to.mode == SaveMode::kErrorIfExists) {
    throw already_exists("{} is there already; save overwrite, append or ignore", to.path);
  }
  if (exists && to.mode == SaveMode::kAppend && !fs::is_directory(to.path)) {
    throw invalid_argument("{} is a file: only a folder can be appended to", to.path);
  }
  if (exists && to.mode == SaveMode::kOverwrite) check_replaceable(to.path);
  Staging staging{core.workspace.fresh("")};
  fs::create_directories(staging.folder);
  write_parts(core, tables, stored, to, staging.folder);
  fs::create_directories(fs::path(to.path).parent_path(), error);
  if (error) throw permission_denied("cannot make the folder of {}: {}", to.path, error.message());
  jobs::FolderKeeper* keeper = core.options.keeper;
  if (!exists) return move_into_place(staging.folder, to.path, keeper);
  if (to.mode == SaveMode::kAppend) return append_files(staging.folder, to.path, keeper);
  replace(staging.folder, to.path, keeper);
}

}  // namespace capstan::duck
