#include "jobs/k8s/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";
constexpr std::array<std::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                    "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse = {"n",     "N",     "no",  "No",  "NO", "false",
                                                     "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};

template <size_t n>
bool is_one_of(const std::array<std::string_view, n>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

template <class Number>
std::optional<json> parsed(std::string_view digits, int base) {
  Number number = 0;
  const char* end = digits.data() + digits.size();
  auto [rest, error] = std::from_chars(digits.data(), end, number, base);
  if (digits.empty() || rest != end || error != std::errc()) return std::nullopt;
  return number;
}

// The digits without their prefix: 0x1f, 0b11, 0o17, 017.
int take_base(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char letter = char(digits[1] | 0x20);
  const int base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
  digits.remove_prefix(base != 8 || letter == 'o' ? 2 : 1);
  return base;
}

std::optional<json> whole_number(std::string text) {
  std::erase(text, '_');
  const bool negative = text.starts_with('-');
  std::string_view digits = text;
  if (negative || text.starts_with('+')) digits.remove_prefix(1);
  const int base = take_base(digits);
  if (digits.starts_with('-') || digits.starts_with('+')) return std::nullopt;
  if (negative) return parsed<int64_t>("-" + std::string(digits), base);
  auto number = parsed<int64_t>(digits, base);
  return number ? number : parsed<uint64_t>(digits, base);
}

// [-+]?(.5|5|5.|5.5)(e[-+]?5)?
bool reads_like_a_fraction(std::string_view text) {
  size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - begin;
  };
  const size_t before = digits();
  size_t after = 0;
  if (at < text.size() && text[at] == '.') ++at, after = digits();
  if (before + after == 0) return false;
  if (at == text.size()) return true;
  if (text[at] != 'e' && text[at] != 'E') return false;
  ++at;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  return digits() > 0 && at == text.size();
}

// A whole one is written as such, as JSON would have it.
json number_of(double value) {
  constexpr double kExact = 9e15;
  if (value == std::floor(value) && std::abs(value) < kExact) return int64_t(value);
  return value;
}

std::optional<json> fraction(const std::string& text) {
  if (!reads_like_a_fraction(text)) return std::nullopt;
  const std::string_view digits = std::string_view(text).substr(text.starts_with('+') ? 1 : 0);
  double value = 0;
  auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    throw invalid_argument("{} is no number that fits; quote it if it is a word", text);
  }
  return number_of(value);
}

bool is_no_finite_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  constexpr std::array<std::string_view, 6> kWords = {".inf", ".Inf", ".INF",
                                                      ".nan", ".NaN", ".NAN"};
  return is_one_of(kWords, text);
}

json plain_value(const std::string& text) {
  if (is_one_of(kNull, text)) return nullptr;
  if (is_one_of(kTrue, text)) return true;
  if (is_one_of(kFalse, text)) return false;
  constexpr std::string_view kBegins = "+-.0123456789";
  if (kBegins.find(text[0]) == kBegins.npos) return text;
  if (is_no_finite_number(text)) {
    throw invalid_argument("{} is a number that JSON does not have; quote it if it is a word",
                           text);
  }
  if (auto whole = whole_number(text)) return *whole;
  if (auto number = fraction(text)) return *number;
  return text;
}

json tagged_value(std::string_view tag, const std::string& text) {
  const json plain = plain_value(text);
  const bool fits = tag == "int"     ? plain.is_number_integer()
                    : tag == "float" ? plain.is_number()
                    : tag == "bool"  ? plain.is_boolean()
                    : tag == "null"  ? plain.is_null()
                                     : false;
  if (!fits) throw invalid_argument("{} does not fit the tag !!{}", text, tag);
  return plain;
}

}  // namespace

json scalar_value(std::string_view tag, const std::string& text) {
  if (tag == "?") return plain_value(text);
  if (tag == "!" || tag.empty()) return text;
  if (!tag.starts_with(kTagPrefix)) {
    throw invalid_argument("the tag {} is not known here; leave it out", tag);
  }
  tag.remove_prefix(kTagPrefix.size());
  return tag == "str" ? json(text) : tagged_value(tag, text);
}

std::string scalar_name(std::string_view tag, const std::string& text) {
  const json value = scalar_value(tag, text);
  if (value.is_null()) throw invalid_argument("a name is missing here, as in name: value");
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace capstan::jobs::k8s
