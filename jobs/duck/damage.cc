#include "jobs/duck/damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/files.h"
#include "base/printable.h"
#include "jobs/duck/read_options.h"

namespace capstan::duck {
namespace {

using script::LoadFrom;

std::string first_lines(const std::string& text, size_t most) {
  size_t end = 0;
  for (size_t i = 0; i < most && end != text.npos; ++i) end = text.find('\n', end + (i > 0));
  std::string out = text.substr(0, end);
  std::replace(out.begin(), out.end(), '\n', ' ');
  return printable(out.substr(0, 500));
}

// The first line that is no JSON: DuckDB counts from another start.
size_t bad_json_line(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (!nlohmann::json::accept(line)) return number;
  }
  return 0;
}

// The first line that ends inside quotes at the end of the file, or has another number of fields
// than the first: for files of which DuckDB says no more than that it cannot make sense of them.
size_t bad_csv_line(const std::string& file, const script::KeyValues& options) {
  std::string bytes = posix_files().read(file), delimiter = csv_delimiter(options);
  char quote = csv_quote(options);
  size_t line = 1, begin = 1, fields = 1, expected = 0;
  bool inside = false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == quote) inside = !inside;
    if (bytes[i] == '\n') ++line;
    if (inside) continue;
    if (bytes.compare(i, delimiter.size(), delimiter) == 0) ++fields;
    if (bytes[i] != '\n' && i + 1 < bytes.size()) continue;
    if (expected == 0) expected = fields;
    if (fields != expected) return begin;
    fields = 1;
    begin = line;
  }
  return inside ? begin : 0;
}

std::string file_in(const std::string& message, const Input& input) {
  std::smatch found;
  for (const std::string& file : input.files) {
    if (message.find(file) != message.npos) return file;
  }
  return input.files.front();
}

std::string without(std::string text, const std::regex& part) {
  return std::regex_replace(text, part, "");
}

}  // namespace

// "CSV Error on Line: 7\nOriginal Line: …\nreason\n…"
void throw_damaged(const Error& error, const LoadFrom& from, const Input& input) {
  static const std::regex csv_line("CSV Error on Line: ([0-9]+)\n(?:Original Line: [^\n]*\n)?");
  static const std::regex json_line(
      "Malformed JSON in file \"[^\"]*\", at byte [0-9]+ in line ([0-9]+): ");
  std::string message = error.message(), file = file_in(message, input), line;
  std::smatch found;
  if (std::regex_search(message, found, csv_line)) line = found[1];
  message = without(message, csv_line);
  if (std::regex_search(message, found, json_line)) line = found[1];
  message = without(message, json_line);
  if (from.format == "json" && !flag(from.options, "multiLine", false)) {
    if (size_t number = bad_json_line(file)) line = std::to_string(number);
  }
  if (from.format == "csv" && line.empty()) {
    if (size_t number = bad_csv_line(file, from.options)) {
      line = std::to_string(number);
      message = "a quote that does not end, or another number of columns than in the first line";
    }
  }
  std::string shown = input.said.empty() ? file : input.said;
  std::string hint = message.find("auto-detected") != message.npos
                         ? "; where inferSchema=\"false\" all columns are text"
                         : "";
  throw Error(Code::kDataLoss, fmt::format("{}{}: {}{}", shown, line.empty() ? "" : ":" + line,
                                           first_lines(message, 2), hint));
}

}  // namespace capstan::duck
