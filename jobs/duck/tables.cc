#include "jobs/duck/tables.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest.h"
#include "jobs/duck/cells.h"

namespace capstan::duck {

std::shared_ptr<const std::string> Tables::fresh() {
  auto drop = [this](const std::string* stored) {
    try {
      link_.run("DROP TABLE IF EXISTS " + *stored);
    } catch (const Error&) {
      // It stays until the store goes; nobody can name it.
    }
    delete stored;
  };
  return {new std::string(fmt::format("capstan.t{}", ++made_)), drop};
}

void Tables::publish(const std::string& name, std::shared_ptr<const std::string> stored,
                     int partitions) {
  link_.run(
      fmt::format("CREATE OR REPLACE VIEW main.{} AS SELECT * FROM {}", sql_name(name), *stored));
  entries_[lower(name)] = {name, std::move(stored), partitions};
}

void Tables::drop(const std::string& name) {
  const Entry& entry = find(name);
  link_.run(fmt::format("DROP VIEW IF EXISTS main.{}", sql_name(entry.name)));
  entries_.erase(lower(name));
}

const Tables::Entry& Tables::find(const std::string& name) const {
  auto found = entries_.find(lower(name));
  if (found != entries_.end()) return found->second;
  throw not_found("there is no table {}{}", name, did_you_mean(name, names()));
}

bool Tables::has(const std::string& name) const { return entries_.contains(lower(name)); }

std::vector<std::string> Tables::names() const {
  std::vector<std::string> out;
  for (const auto& [key, entry] : entries_) out.push_back(entry.name);
  return out;
}

std::vector<script::Column> Tables::columns(const std::string& stored) const {
  Result result = link_.run(
      "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'capstan' "
      "AND table_name = $1 ORDER BY column_index",
      {stored.substr(stored.find('.') + 1)});
  std::vector<script::Column> out;
  for (auto& row : read_cells(link_.api(), result)) {
    out.push_back({std::get<std::string>(row[0]), std::get<std::string>(row[1])});
  }
  return out;
}

int64_t Tables::count(const std::string& stored) const {
  Result result = link_.run("SELECT count(*) FROM " + stored);
  return std::get<int64_t>(read_cells(link_.api(), result).at(0).at(0));
}

}  // namespace capstan::duck
