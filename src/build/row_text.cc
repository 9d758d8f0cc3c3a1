#include "build/row_text.h"

namespace capstan {
namespace {

// What stands before the first of these, which is taken away with it.
std::string_view cut(std::string_view& rest, std::string_view mark) {
  const size_t at = rest.find(mark);
  std::string_view before = rest.substr(0, at);
  rest = at == rest.npos ? std::string_view{} : rest.substr(at + mark.size());
  return before;
}

RowParameter parameter_of(std::string_view text) {
  std::string_view declared = cut(text, "=");
  std::string_view name = cut(declared, ": ");
  return {name, declared, text};
}

}  // namespace

std::vector<RowParameter> row_parameters(std::string_view python) {
  cut(python, "(");
  if (python.ends_with(')')) python.remove_suffix(1);
  std::vector<RowParameter> parameters;
  while (!python.empty()) parameters.push_back(parameter_of(cut(python, ", ")));
  return parameters;
}

}  // namespace capstan
