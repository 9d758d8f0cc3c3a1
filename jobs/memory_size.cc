#include "jobs/memory_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"

namespace capstan::jobs {
namespace {

constexpr std::string_view kUnits = "KMGT";
// More than any machine has, and far from the end of int64_t.
constexpr double kMost = 1e18;

double unit_of(char letter) {
  const size_t at = kUnits.find(letter);
  return at == kUnits.npos ? 0 : double(int64_t{1} << (10 * (at + 1)));
}

// "1.5G"
std::optional<int64_t> bytes_of(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  const bool has_unit = end - rest == 1;
  const double unit = has_unit ? unit_of(*rest) : 1;
  if ((rest != end && !has_unit) || unit == 0) return std::nullopt;
  const double bytes = number * unit;
  if (!(bytes >= 1 && bytes <= kMost)) return std::nullopt;
  return int64_t(bytes);
}

MemoryRule rule_of(std::string_view text) {
  const size_t equals = text.find('=');
  const bool named = equals != text.npos;
  const auto bytes = bytes_of(named ? text.substr(equals + 1) : text);
  if (!bytes || equals == 0) {
    throw invalid_argument(
        "--memory {}: expected an amount for every task, or for those of a job, as in 2G or "
        "ps=4G,worker=512M (K, M, G and T are powers of 1024)",
        text);
  }
  return {std::string(named ? text.substr(0, equals) : ""), *bytes};
}

}  // namespace

std::vector<MemoryRule> parse_memory_rules(std::string_view text) {
  std::vector<MemoryRule> rules;
  for (size_t start = 0, end = 0; end < text.size() || start == 0; start = end + 1) {
    end = std::min(text.find(',', start), text.size());
    rules.push_back(rule_of(text.substr(start, end - start)));
  }
  return rules;
}

std::string binary_bytes(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = double(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const std::string number = fmt::format("{:.1f}", value);
  const bool whole = number.ends_with(".0");
  return fmt::format("{} {}iB", whole ? number.substr(0, number.size() - 2) : number, kUnits[unit]);
}

}  // namespace capstan::jobs
