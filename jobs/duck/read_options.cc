#include "jobs/duck/read_options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "jobs/duck/connection.h"
#include "jobs/duck/date_pattern.h"
#include "jobs/duck/json_file.h"
#include "jobs/duck/tables.h"

namespace capstan::duck {
namespace {

using script::KeyValues;

// `\t` in a script is a backslash and a letter: its strings have no escapes.
std::string character(const std::string& text) {
  if (text == "\\t") return "\t";
  if (text == "\\\\") return "\\";
  return text;
}

void check_encoding(const KeyValues& options) {
  std::string encoding = lower(option(options, "encoding") + option(options, "charset"));
  if (!encoding.empty() && encoding != "utf-8" && encoding != "utf8") {
    throw invalid_argument("encoding {} is not read here; only UTF-8 is", encoding);
  }
}

std::string text_or(const KeyValues& options, std::string_view key, std::string_view standard) {
  std::string given = character(option(options, key));
  return given.empty() ? std::string(standard) : given;
}

// dateFormat and timestampFormat, in Java's letters.
std::string date_formats(const KeyValues& options) {
  std::string out;
  for (const char* key : {"dateFormat", "timestampFormat"}) {
    std::string given = option(options, key);
    if (!given.empty()) out += fmt::format(", {} = {}", lower(key), sql_text(date_pattern(given)));
  }
  return out;
}

std::string csv_arguments(const std::vector<std::string>& files, const KeyValues& options) {
  check_encoding(options);
  std::string null = option(options, "nullValue");
  std::string quote = text_or(options, "quote", "\"");
  return fmt::format(
      ", header = {}, delim = {}, quote = {}, escape = {}, nullstr = {}, all_varchar = {}, "
      "ignore_errors = {}, union_by_name = {}, strict_mode = true, max_line_size = 16777216, "
      "buffer_size = 33554432{}",
      flag(options, "header", false), sql_text(csv_delimiter(options)), sql_text(quote),
      sql_text(text_or(options, "escape", quote)),
      null.empty() ? "['']" : fmt::format("[{}, '']", sql_text(null)),
      !flag(options, "inferSchema", true), lower(option(options, "mode")) == "dropmalformed",
      files.size() > 1,  // a column that only the second file has is a column
      date_formats(options));
}

std::string json_arguments(const std::vector<std::string>& files, const KeyValues& options,
                           JsonRows rows) {
  check_encoding(options);
  // A column that is first seen in the last line is still a column: all lines are looked at. Text
  // that looks like a date stays text, as in Spark.
  std::string formats = date_formats(options);
  if (formats.empty()) formats = ", dateformat = 'never', timestampformat = 'never'";
  return fmt::format(
      ", format = '{}', records = '{}', sample_size = -1, maximum_sample_files = 1000000, "
      "union_by_name = true, maximum_object_size = 67108864{}",
      flag(options, "multiLine", false) ? "auto" : json_layout(files),
      rows == JsonRows::kObjects ? "true" : "auto", formats);
}

}  // namespace

std::string option(const KeyValues& options, std::string_view key) {
  for (const auto& [name, value] : options) {
    if (lower(name) == lower(key)) return value;
  }
  return {};
}

std::string csv_delimiter(const KeyValues& options) {
  std::string given = character(option(options, "delimiter"));
  if (given.empty()) given = character(option(options, "sep"));
  return given.empty() ? "," : given;
}

char csv_quote(const KeyValues& options) { return text_or(options, "quote", "\"")[0]; }

bool flag(const KeyValues& options, std::string_view key, bool standard) {
  std::string text = lower(option(options, key));
  if (text.empty()) return standard;
  if (text == "true" || text == "1" || text == "yes") return true;
  if (text == "false" || text == "0" || text == "no") return false;
  throw invalid_argument("{}=\"{}\": true or false is expected", key, text);
}

std::string read_call(const std::string& format, const std::vector<std::string>& files,
                      bool by_value, const KeyValues& options, JsonRows rows) {
  std::vector<std::string> texts;
  for (const std::string& file : files) texts.push_back(sql_text(file));
  std::string list = fmt::format("[{}], hive_partitioning = {}", sql_list(texts), by_value);
  if (format == "csv") return fmt::format("read_csv({}{})", list, csv_arguments(files, options));
  if (format == "json")
    return fmt::format("read_json({}{})", list, json_arguments(files, options, rows));
  if (format == "parquet") return fmt::format("read_parquet({})", list);
  if (format == "text") {
    // Lines as they are: no sign in them means anything, and an empty one is no null.
    return "read_csv(" + list +
           ", columns = {'value': 'VARCHAR'}, delim = '', quote = '', escape = '', header = false, "
           "auto_detect = false, max_line_size = 16777216, buffer_size = 33554432)";
  }
  throw invalid_argument("format {} is not read here; csv, json, parquet and text are", format);
}

std::string file_ending(const std::string& format, const KeyValues& options) {
  // Files of columns are packed inside; of others the name says it, and readers go by that.
  const bool packed = format != "parquet" && lower(option(options, "compression")) == "gzip";
  return packed ? format + ".gz" : format;
}

std::string pack_options(const std::string& format, const KeyValues& options) {
  const bool columns = format == "parquet";
  std::string wanted = lower(text_or(options, "compression", columns ? "snappy" : "none"));
  if (columns && wanted == "none") wanted = "uncompressed";
  return "COMPRESSION " + sql_text(wanted);
}

std::string write_options(const std::string& format, const KeyValues& options) {
  const std::string packing = pack_options(format, options);
  if (format == "parquet" || format == "json") return fmt::format("FORMAT {}, {}", format, packing);
  if (format == "csv") {
    return fmt::format("FORMAT csv, HEADER {}, DELIMITER {}, QUOTE {}, ESCAPE {}, NULLSTR {}, {}",
                       flag(options, "header", false), sql_text(csv_delimiter(options)),
                       sql_text(text_or(options, "quote", "\"")),
                       sql_text(text_or(options, "escape", "\"")),
                       sql_text(option(options, "nullValue")), packing);
  }
  throw invalid_argument("format {} is not written here; csv, json and parquet are", format);
}

}  // namespace capstan::duck
