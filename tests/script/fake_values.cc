#include <charconv>
#include <cmath>
#include <optional>

#include "script/fake_query.h"

namespace capstan::script {
namespace {

std::optional<double> number(const Cell& cell) {
  if (const auto* value = std::get_if<int64_t>(&cell)) return double(*value);
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  if (const auto* value = std::get_if<bool>(&cell)) return double(*value);
  if (const auto* text = std::get_if<std::string>(&cell)) {
    double value = 0;
    auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error == std::errc() && end == text->data() + text->size()) return value;
  }
  return std::nullopt;
}

bool is_text(const Cell& cell) { return std::holds_alternative<std::string>(cell); }

}  // namespace

std::partial_ordering compared(const Cell& a, const Cell& b) {
  if (is_text(a) && is_text(b)) return std::get<std::string>(a) <=> std::get<std::string>(b);
  const auto x = number(a), y = number(b);
  return x && y ? *x <=> *y : std::partial_ordering::unordered;
}

bool is_true(const Cell& cell) { return number(cell).value_or(0) != 0; }

Cell calculated(char sign, const Cell& a, const Cell& b) {
  const auto x = number(a), y = number(b);
  if (!x || !y) return {};
  const double result = sign == '+'   ? *x + *y
                        : sign == '-' ? *x - *y
                        : sign == '*' ? *x * *y
                                      : *x / *y;
  const bool whole = !std::holds_alternative<double>(a) && !std::holds_alternative<double>(b);
  if (whole && sign != '/' && std::abs(result) < 1e15) return int64_t(result);
  return std::isfinite(result) ? Cell(result) : Cell();
}

Cell compare(const std::string& sign, const Cell& a, const Cell& b) {
  const auto order = compared(a, b);
  if (order == std::partial_ordering::unordered) return {};
  if (sign == "=" || sign == "==") return order == 0;
  if (sign == "!=" || sign == "<>") return order != 0;
  if (sign == "<") return order < 0;
  if (sign == ">") return order > 0;
  return sign == "<=" ? order <= 0 : order >= 0;
}

}  // namespace capstan::script
