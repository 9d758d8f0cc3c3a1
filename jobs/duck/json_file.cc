#include "jobs/duck/json_file.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

namespace capstan::duck {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";

struct Start {
  char sign = '\0';  // the first that is not blank
  bool marked = false, packed = false;
};

Start start_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string head(kZstd.size(), '\0');
  in.read(head.data(), std::streamsize(head.size()));
  head.resize(size_t(in.gcount()));
  Start start{.marked = head.starts_with(kByteOrderMark),
              .packed = head.starts_with(kGzip) || head.starts_with(kZstd)};
  in.clear();
  in.seekg(start.marked ? std::streamoff(kByteOrderMark.size()) : 0);
  while (in.get(start.sign) && kBlank.find(start.sign) != kBlank.npos) {
  }
  return start;
}

// Finds where the parser gives up; wants nothing of what it reads.
class DamageFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    at = position;
    return false;
  }
  size_t at = 0;
};

size_t line_at(const std::string& file, size_t position) {
  std::ifstream in(file, std::ios::binary);
  size_t line = 1;
  for (char c; position > 1 && in.get(c); --position) line += c == '\n';
  return line;
}

size_t bad_array_line(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  DamageFinder finder;
  return nlohmann::json::sax_parse(in, &finder) ? 0 : line_at(file, finder.at);
}

// The first line that is not blank of which `is_bad` says so.
size_t find_line(const std::string& file, const std::function<bool(std::string_view)>& is_bad) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    std::string_view text = line;
    if (number == 1 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const size_t begin = text.find_first_not_of(kBlank);
    if (begin != text.npos && is_bad(text.substr(begin))) return number;
  }
  return 0;
}

// The elements of an array that is JSON: `is_it` gets the number of each from 1 and its first sign,
// until it says so.
size_t find_element(const std::string& file, const std::function<bool(size_t, char)>& is_it) {
  std::ifstream in(file, std::ios::binary);
  size_t line = 1, number = 0;
  int depth = 0;
  bool inside = false, awaited = true;  // a text; an element
  for (char c; in.get(c);) {
    if (c == '\n') ++line;
    if (inside) {
      if (c == '\\')
        in.get(c);
      else if (c == '"')
        inside = false;
      continue;
    }
    const bool begins = depth == 1 && awaited && kBlank.find(c) == kBlank.npos && c != ']';
    if (begins && is_it(++number, c)) return line;
    if (begins) awaited = false;
    if (c == '"') inside = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 1) awaited = true;
  }
  return 0;
}

}  // namespace

std::string json_layout(const std::vector<std::string>& files) {
  size_t arrays = 0;
  bool plain = true;
  for (const std::string& file : files) {
    const Start start = start_of(file);
    arrays += !start.packed && start.sign == '[';
    plain = plain && !start.packed && !start.marked;
  }
  if (arrays == files.size()) return "array";
  return arrays == 0 && plain ? "newline_delimited" : "auto";
}

size_t line_of_bad_json(const std::string& file, bool loose) {
  const Start start = start_of(file);
  if (start.packed) return 0;
  if (start.sign == '[') return bad_array_line(file);
  if (loose) return 0;
  return find_line(file, [](std::string_view line) { return !nlohmann::json::accept(line); });
}

size_t line_of_no_object(const std::string& file) {
  const Start start = start_of(file);
  if (start.packed) return 0;
  // null is a row of nulls.
  auto is_bad = [](char sign) { return sign != '{' && sign != 'n'; };
  if (start.sign == '[') return find_element(file, [&](size_t, char sign) { return is_bad(sign); });
  return find_line(file, [&](std::string_view line) { return is_bad(line[0]); });
}

size_t line_of_element(const std::string& file, size_t number) {
  if (start_of(file).sign != '[') return 0;
  return find_element(file, [&](size_t n, char) { return n == number; });
}

}  // namespace capstan::duck
