#include "jobs/duck/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>

#include "base/error.h"
#include "jobs/duck/damage.h"
#include "jobs/duck/file_list.h"
#include "jobs/duck/read_options.h"

namespace capstan::duck {
namespace {

namespace fs = std::filesystem;
using script::LoadFrom;

Input input_of(Core& core, const LoadFrom& from) {
  if (!from.path.empty()) return {list_files(from.path), ""};
  std::string path = core.workspace.fresh("." + from.format);
  std::ofstream(path, std::ios::binary) << from.text;
  return {{path}, "the text"};
}

// DuckDB reads these as patterns, and the lock compares whole paths.
void check_names(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (file.find_first_of("*?[") != file.npos) {
      throw unimplemented("{}: a file with * ? or [ in its name cannot be read; rename it", file);
    }
  }
}

// How much of the path is given for sure: all of it, or up to the folder above a pattern. Folders
// d=1 below that are values; what stands in it is nobody's value.
size_t given_part(const std::string& path) {
  const size_t sign = path.find_first_of("*?[{");
  return sign == path.npos ? path.size() : path.rfind('/', sign) + 1;
}

bool has_value_folders(const std::vector<std::string>& files, const std::string& path) {
  return std::any_of(files.begin(), files.end(), [&](const std::string& file) {
    size_t folder = file.rfind('/'), equals = file.find('=', given_part(path));
    return equals < folder;
  });
}

// DuckDB takes a folder for a value wherever it stands: those above are left out.
std::string columns_of(const LoadFrom& from, bool by_value) {
  if (from.format == "text") return "coalesce(value, '') AS value";
  const std::string path = from.path.substr(0, by_value ? given_part(from.path) : 0);
  std::vector<std::string> above;
  for (const fs::path& part : fs::path(path)) {
    const std::string name = part.string().substr(0, part.string().find('='));
    if (name.size() < part.string().size()) above.push_back(sql_text(name));
  }
  return above.empty() ? "*" : fmt::format("COLUMNS(lambda c: c NOT IN ({}))", sql_list(above));
}

// Spark calls the columns of a file without header _c0, _c1, …
std::string spark_name(const std::string& name) {
  static const std::regex unnamed("column([0-9]+)");
  std::smatch found;
  if (!std::regex_match(name, found, unnamed)) return name;
  return "_c" + std::to_string(std::stoul(found[1]));
}

// Nothing but JSON without objects is answered so; whether it is empty, or of another kind, is ours
// to find out.
bool has_no_objects(const Error& error) {
  return error.message().find("expected records") != std::string::npos;
}

void read(Core& core, Pull& pull, const LoadFrom& from, const Input& input,
          const std::string& query, const std::string& stored) {
  Store reader(core.api, closed_settings(core.options));
  Link link(core.api, reader.raw(), core.interrupts);
  std::vector<std::string> real;
  for (const std::string& file : input.files) {
    real.push_back(file);
    real.push_back(fs::canonical(file));
  }
  close_off(link, real, "");
  Result rows = link.stream(query);
  bool unnamed = from.format == "csv" && !flag(from.options, "header", false);
  pull.into(stored, rows,
            [&](const std::string& name) { return unnamed ? spark_name(name) : name; });
}

void read_rows(const LoadFrom& from, const Input& input,
               const std::function<void(JsonRows)>& read_as) {
  try {
    return read_as(JsonRows::kObjects);
  } catch (const Error& error) {
    if (from.format != "json" || !has_no_objects(error)) throw;
  }
  check_objects(input);
  read_as(JsonRows::kNone);
}

}  // namespace

void load_files(Core& core, Pull& pull, const LoadFrom& from, const std::string& stored) {
  Input input = input_of(core, from);
  check_names(input.files);
  bool by_value = has_value_folders(input.files, from.path);
  auto query = [&](JsonRows rows) {
    return fmt::format("SELECT {} FROM {}", columns_of(from, by_value),
                       read_call(from.format, input.files, by_value, from.options, rows));
  };
  query(JsonRows::kObjects);  // wrong options are no damage
  try {
    read_rows(from, input,
              [&](JsonRows rows) { read(core, pull, from, input, query(rows), stored); });
  } catch (const Error& error) {
    // DuckDB's words for damaged files of columns have no kind.
    bool ours = error.code() == Code::kCancelled || error.code() == Code::kResourceExhausted ||
                (error.code() == Code::kInternal && from.format != "parquet") ||
                error.code() == Code::kDataLoss || error.code() == Code::kPermissionDenied;
    if (ours) throw;
    throw_damaged(error, from, input);
  }
  if (!input.said.empty()) fs::remove(input.files.front());
}

}  // namespace capstan::duck
