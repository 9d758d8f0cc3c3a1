#include "jobs/script/table.h"

#include <fmt/format.h>

namespace capstan::script {
namespace {

struct ToText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const Number& value) const { return value.digits; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(auto value) const { return fmt::format("{}", value); }
};

}  // namespace

std::string cell_text(const Cell& cell) { return std::visit(ToText(), cell); }

}  // namespace capstan::script
