#include "jobs/duck/date_pattern.h"

#include <cctype>

#include "base/error.h"

namespace capstan::duck {
namespace {

struct Field {
  std::string_view java, strftime;
};

// The longest that fits comes first.
constexpr Field kFields[] = {
    {"yyyy", "%Y"}, {"uuuu", "%Y"}, {"yy", "%y"},  {"MMMM", "%B"}, {"MMM", "%b"}, {"MM", "%m"},
    {"dd", "%d"},   {"HH", "%H"},   {"hh", "%I"},  {"mm", "%M"},   {"ss", "%S"},  {"SSSSSS", "%f"},
    {"SSS", "%g"},  {"EEEE", "%A"}, {"EEE", "%a"}, {"DDD", "%j"},  {"XXX", "%z"}, {"Z", "%z"},
    {"z", "%Z"},    {"a", "%p"},    {"M", "%-m"},  {"d", "%-d"},   {"H", "%-H"},  {"h", "%-I"},
    {"m", "%-M"},   {"s", "%-S"},   {"E", "%a"},   {"y", "%Y"},    {"D", "%-j"},
};

}  // namespace

std::string date_pattern(std::string_view java) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < java.size();) {
    char c = java[i];
    if (c == '\'') {
      bool doubled = i + 1 < java.size() && java[i + 1] == '\'';
      if (doubled) out += '\'';
      quoted ^= !doubled;
      i += doubled ? 2 : 1;
      continue;
    }
    if (quoted || !std::isalpha(static_cast<unsigned char>(c))) {
      out += c == '%' ? "%%" : std::string(1, c);
      ++i;
      continue;
    }
    size_t end = java.find_first_not_of(c, i);
    std::string_view run = java.substr(i, end == java.npos ? end : end - i);
    const Field* found = nullptr;
    for (const Field& field : kFields) {
      if (field.java == run) found = &field;
    }
    if (!found) throw invalid_argument("'{}' in the date pattern '{}' is not known", run, java);
    out += found->strftime;
    i += run.size();
  }
  return out;
}

}  // namespace capstan::duck
