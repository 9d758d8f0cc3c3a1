#include "jobs/duck/damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "base/files.h"
#include "base/printable.h"
#include "jobs/duck/json_file.h"
#include "jobs/duck/read_options.h"
#include "jobs/script/words.h"

namespace capstan::duck {
namespace {

using script::LoadFrom;

std::string first_lines(const std::string& text, size_t most) {
  size_t end = 0;
  for (size_t i = 0; i < most && end != text.npos; ++i) end = text.find('\n', end + (i > 0));
  std::string out = text.substr(0, std::min(end, text.find("Possible fixes:")));
  std::replace(out.begin(), out.end(), '\n', ' ');
  return printable(script::trimmed(out).substr(0, 500));
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

struct Damage {
  std::string message;
  size_t line = 0;  // 0: not known
};

// "CSV Error on Line: 7\nOriginal Line: …\nreason\n…"
Damage csv_damage(Damage damage, const std::string& file, const LoadFrom& from) {
  static const std::regex place("CSV Error on Line: ([0-9]+)\n(?:Original Line: [^\n]*\n)?");
  std::smatch found;
  if (std::regex_search(damage.message, found, place)) damage.line = std::stoul(found[1]);
  damage.message = without(damage.message, place);
  if (damage.line || from.format != "csv") return damage;
  const size_t line = bad_csv_line(file, from.options);
  if (line == 0) return damage;
  return {"a quote that does not end, or another number of columns than in the first line", line};
}

Damage json_damage(Damage damage, const std::string& file, const LoadFrom& from) {
  static const std::regex place(
      "(?:Malformed JSON|JSON transform error) in file \"[^\"]*\",(?: at byte [0-9]+)? in "
      "(line|record/value) ([0-9]+): ");
  std::smatch found;
  if (std::regex_search(damage.message, found, place)) {
    const size_t number = std::stoul(found[2]);
    damage.line = found[1] == "line" ? number : line_of_element(file, number);
  }
  damage.message = without(damage.message, place);
  damage.message.resize(std::min(damage.message.find("\nTry "), damage.message.size()));
  // DuckDB counts lines from another start.
  const size_t line = line_of_bad_json(file, flag(from.options, "multiLine", false));
  return {damage.message, line ? line : damage.line};
}

[[noreturn]] void throw_damage(const Damage& damage, const std::string& file, const Input& input) {
  const std::string shown = input.said.empty() ? file : input.said;
  const bool guessed = damage.message.find("auto-detected") != damage.message.npos;
  throw Error(Code::kDataLoss,
              fmt::format("{}{}: {}{}", shown, damage.line ? fmt::format(":{}", damage.line) : "",
                          first_lines(damage.message, 2),
                          guessed ? "; where inferSchema=\"false\" all columns are text" : ""));
}

}  // namespace

void throw_damaged(const Error& error, const LoadFrom& from, const Input& input) {
  const std::string file = file_in(error.message(), input);
  const Damage said{error.message()};
  throw_damage(from.format == "json" ? json_damage(said, file, from) : csv_damage(said, file, from),
               file, input);
}

void check_objects(const Input& input) {
  for (const std::string& file : input.files) {
    const size_t line = line_of_no_object(file);
    if (line)
      throw_damage({"a row is an object, {\"name\": value, …}, and this is none", line}, file,
                   input);
  }
}

}  // namespace capstan::duck
