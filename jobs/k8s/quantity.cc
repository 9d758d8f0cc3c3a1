#include "jobs/k8s/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace capstan::jobs::k8s {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 16> kUnits = {
    {{"", 1e3},
     {"n", 1e-6},
     {"u", 1e-3},
     {"m", 1},
     {"k", 1e6},
     {"M", 1e9},
     {"G", 1e12},
     {"T", 1e15},
     {"P", 1e18},
     {"E", 1e21},
     {"Ki", 1024e3},
     {"Mi", 1048576e3},
     {"Gi", 1073741824e3},
     {"Ti", 1099511627776e3},
     {"Pi", 1125899906842624e3},
     {"Ei", 1152921504606846976e3}}};
// As much as fits; nobody has it.
constexpr double kMost = 9.2e18;

std::optional<double> thousandths_per(std::string_view unit) {
  for (const auto& [name, factor] : kUnits) {
    if (name == unit) return factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> parse_quantity(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_of("0123456789") > 2) return std::nullopt;
  double number = 0;
  const char* end = text.data() + text.size();
  // An exponent only if digits follow: 1E is a unit.
  auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(rest, size_t(end - rest));
  if (unit.size() > 1 && (unit[0] == 'e' || unit[0] == 'E') && unit != "Ei") {
    auto [after, failed] = std::from_chars(text.data(), end, number);
    if (failed != std::errc() || after != end) return std::nullopt;
    unit = {};
  }
  const auto factor = thousandths_per(unit);
  if (!factor || !std::isfinite(number)) return std::nullopt;
  return int64_t(std::ceil(std::clamp(number * *factor, -kMost, kMost)));
}

std::optional<int64_t> quantity_of(const nlohmann::json& value) {
  if (value.is_string()) return parse_quantity(value.get_ref<const std::string&>());
  if (value.is_number()) return parse_quantity(value.dump());
  return std::nullopt;
}

std::string quantity_text(int64_t thousandths) {
  return thousandths % 1000 == 0 ? fmt::format("{}", thousandths / 1000)
                                 : fmt::format("{}m", thousandths);
}

}  // namespace capstan::jobs::k8s
