#pragma once

// Options of load and save, in Spark's names, as DuckDB's arguments.

#include <string>
#include <vector>

#include "jobs/script/engine.h"

namespace capstan::duck {

// What JSON files hold: rows, or nothing from which columns could be told.
enum class JsonRows { kObjects, kNone };

// "read_csv(['a.csv'], header = true, …)". `by_value`: folders d=1 give a column. Throws
// InvalidArgument for a format or a value that is not known.
std::string read_call(const std::string& format, const std::vector<std::string>& files,
                      bool by_value, const script::KeyValues& options,
                      JsonRows rows = JsonRows::kObjects);
// "FORMAT csv, HEADER false, …, COMPRESSION 'none'".
std::string write_options(const std::string& format, const script::KeyValues& options);
// The last of those alone.
std::string pack_options(const std::string& format, const script::KeyValues& options);
// "csv", "csv.gz"
std::string file_ending(const std::string& format, const script::KeyValues& options);

// Keys compare without regard to case. Empty if it is not given.
std::string option(const script::KeyValues& options, std::string_view key);
bool flag(const script::KeyValues& options, std::string_view key, bool standard);

std::string csv_delimiter(const script::KeyValues& options);
char csv_quote(const script::KeyValues& options);

}  // namespace capstan::duck
