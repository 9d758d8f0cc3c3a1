#include <fmt/format.h>

#include "base/nearest.h"
#include "base/printable.h"
#include "jobs/script/run.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

constexpr size_t kLongestName = 255;

bool has_control(std::string_view text) {
  return printable(text) != text || text.find_first_of("\n\t") != text.npos;
}

}  // namespace

Rendered Here::rendered(const Text& text, bool select) const {
  try {
    return run.templates().render(text.text, select);
  } catch (const Error& error) {
    throw error_at(place(text), error);
  }
}

std::string Here::text(const Text& text) const { return rendered(text).text; }

std::string Here::name(const Text& text) const {
  std::string name = this->text(text);
  auto refuse = [&](std::string_view why) {
    return error_at(place(text), Code::kInvalidArgument,
                    fmt::format("the name {}{}", name.empty() ? "" : shown(name), why));
  };
  if (name.empty()) throw refuse("is empty");
  if (name.size() > kLongestName)
    throw refuse(fmt::format("… is longer than {} bytes", kLongestName));
  if (has_control(name)) throw refuse(" holds a control character, or is no UTF-8");
  return name;
}

bool Here::has_table(std::string_view name) const {
  const std::vector<std::string> tables = session.engine.tables();
  return std::ranges::any_of(tables, [&](auto& table) { return same_word(table, name); });
}

std::string Here::table(const Text& text) const {
  std::string name = this->name(text);
  if (has_table(name)) return name;
  throw error_at(
      place(text), Code::kNotFound,
      fmt::format("there is no table {}{}", name, did_you_mean(name, session.engine.tables())));
}

Options Here::options(const GivenOptions& given, std::span<const OptionDef> known) const {
  std::vector<Option> options;
  for (const GivenOption& option : given)
    options.push_back({option.key.text, text(option.value), place(option.key)});
  return Options(std::move(options), known, place());
}

void Here::answer(const Rows& rows) const {
  const std::string table = session.fresh_name();
  session.engine.define(table, rows);
  session.last_table = table;
}

void Here::sql_failed(const Text& sql, const Rendered& rendered, const Error& error,
                      std::optional<size_t> offset) const {
  if (tells_place(error, place())) throw Error(error);
  if (!offset) throw error_at(place(), error);
  const size_t origin = rendered.origin(std::min(*offset, rendered.text.size()));
  throw error_at(script.place(sql.at + origin), error);
}

}  // namespace capstan::script
