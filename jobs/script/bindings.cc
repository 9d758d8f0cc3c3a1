#include "jobs/script/bindings.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

// Cut at commas that no bracket encloses.
std::vector<std::string_view> pieces(std::string_view text) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    const bool ends = i == text.size() || (text[i] == ',' && depth == 0);
    if (!ends) continue;
    out.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (depth != 0) throw invalid_argument("the brackets of \"{}\" do not match", text);
  return out;
}

std::optional<double> parse_value(std::string_view text) {
  if (text == "true") return 1;
  if (text == "false") return 0;
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Binding parse_binding(std::string_view text) {
  const size_t sign = text.find('=');
  Binding binding{std::string(trimmed(text.substr(0, sign)))};
  if (binding.tensor.empty())
    throw invalid_argument("\"{}\" names no tensor: write tensor, or tensor=column", text);
  if (sign == text.npos) return binding;
  const std::string_view right = trimmed(text.substr(sign + 1));
  if (right.empty()) throw invalid_argument("\"{}\" names no column after the sign", text);
  binding.value = parse_value(right);
  if (binding.value) return binding;
  binding.side_by_side = right.starts_with('[') && right.ends_with(']');
  binding.columns = binding.side_by_side ? parse_names(right.substr(1, right.size() - 2))
                                         : std::vector{std::string(right)};
  return binding;
}

}  // namespace

std::vector<std::string> parse_names(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view name : pieces(text)) {
    if (name.empty())
      throw invalid_argument("a name is missing between the commas of \"{}\"", text);
    names.emplace_back(name);
  }
  return names;
}

std::vector<Binding> parse_bindings(std::string_view text) {
  std::vector<Binding> bindings;
  if (trimmed(text).empty()) return bindings;
  for (std::string_view piece : pieces(text)) {
    Binding next = parse_binding(piece);
    for (const Binding& before : bindings) {
      if (before.tensor == next.tensor)
        throw invalid_argument("'{}' is named twice in \"{}\"", next.tensor, text);
    }
    bindings.push_back(std::move(next));
  }
  return bindings;
}

}  // namespace capstan::script
