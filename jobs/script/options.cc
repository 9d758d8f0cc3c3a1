#include "jobs/script/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

// What begins so belongs to the option: "fitParam.0." of "fitParam.0.*"; else empty.
std::string_view open_prefix(const OptionDef& def) {
  return def.key.ends_with(".*") ? def.key.substr(0, def.key.size() - 1) : std::string_view();
}

bool begins_with(std::string_view key, std::string_view prefix) {
  return key.size() > prefix.size() && same_word(key.substr(0, prefix.size()), prefix);
}

// A key of its own goes before one that stands for many.
const OptionDef* find_def(std::span<const OptionDef> known, std::string_view key) {
  for (const OptionDef& def : known) {
    if (same_word(def.key, key)) return &def;
  }
  for (const OptionDef& def : known) {
    if (!open_prefix(def).empty() && begins_with(key, open_prefix(def))) return &def;
  }
  return nullptr;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

std::optional<int64_t> to_integer(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> to_number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<bool> to_flag(std::string_view text) {
  if (same_word(text, "true")) return true;
  if (same_word(text, "false")) return false;
  return std::nullopt;
}

// What is wrong with the value; empty: nothing.
std::string problem(const OptionDef& def, std::string_view value) {
  switch (def.type) {
    case OptionType::kText: return {};
    case OptionType::kInt: {
      const auto number = to_integer(trimmed(value));
      if (!number) return "a whole number";
      return *number < def.least ? fmt::format("at least {}", def.least) : std::string();
    }
    case OptionType::kNumber: return to_number(trimmed(value)) ? "" : "a number";
    case OptionType::kBool: return to_flag(trimmed(value)) ? "" : "true or false";
    case OptionType::kChoice: {
      const std::vector<std::string> choices = split(def.choices, '|');
      const bool found = std::ranges::any_of(choices, [&](auto& c) { return same_word(c, value); });
      return found ? ""
                   : fmt::format("one of {}{}", fmt::join(choices, ", "),
                                 did_you_mean(lower(value), choices));
    }
  }
  return {};
}

Error unknown(const Option& option, std::span<const OptionDef> known) {
  std::vector<std::string> names;
  for (const OptionDef& def : known) names.emplace_back(def.key);
  std::string hint = did_you_mean(option.key, names);
  if (hint.empty()) {
    hint = names.empty() ? "; there are none here"
                         : fmt::format("; there are {}", fmt::join(names, ", "));
  }
  return error_at(option.place, Code::kInvalidArgument,
                  fmt::format("unknown option {}{}", shown(option.key), hint));
}

void check(const Option& option, std::span<const OptionDef> known) {
  const OptionDef* def = find_def(known, option.key);
  if (!def) throw unknown(option, known);
  const std::string wanted = problem(*def, option.value);
  if (wanted.empty()) return;
  throw error_at(
      option.place, Code::kInvalidArgument,
      fmt::format("option {} is \"{}\"; it must be {}", def->key, shown(option.value), wanted));
}

}  // namespace

Options::Options(std::vector<Option> given, std::span<const OptionDef> known,
                 const Place& statement)
    : given_(std::move(given)), known_(known), statement_(statement) {
  for (size_t i = 0; i < given_.size(); ++i) {
    check(given_[i], known);
    for (size_t j = 0; j < i; ++j) {
      if (!same_word(given_[i].key, given_[j].key)) continue;
      throw error_at(given_[i].place, Code::kInvalidArgument,
                     fmt::format("option {} is given twice; first at {}", shown(given_[i].key),
                                 given_[j].place.text()));
    }
  }
  for (const OptionDef& def : known) {
    if (!def.required || has(def.key)) continue;
    throw error_at(statement, Code::kInvalidArgument,
                   fmt::format("option {} is missing: {}", def.key, def.doc));
  }
}

const Option* Options::find(std::string_view key) const {
  for (const Option& option : given_) {
    if (same_word(option.key, key)) return &option;
  }
  return nullptr;
}

std::string Options::text(std::string_view key) const {
  if (const Option* option = find(key)) return option->value;
  const OptionDef* def = find_def(known_, key);
  return def ? std::string(def->standard) : std::string();
}

int64_t Options::integer(std::string_view key) const {
  return to_integer(trimmed(text(key))).value_or(0);
}

double Options::number(std::string_view key) const {
  return to_number(trimmed(text(key))).value_or(0);
}

bool Options::flag(std::string_view key) const {
  return to_flag(trimmed(text(key))).value_or(false);
}

bool Options::has(std::string_view key) const { return find(key) != nullptr; }

std::vector<std::pair<std::string, std::string>> Options::below(std::string_view prefix) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Option& option : given_) {
    if (begins_with(option.key, prefix))
      out.emplace_back(option.key.substr(prefix.size()), option.value);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> Options::all() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Option& option : given_) {
    const OptionDef* def = find_def(known_, option.key);
    const bool named = def && open_prefix(*def).empty();
    out.emplace_back(named ? std::string(def->key) : option.key, option.value);
  }
  return out;
}

const Place& Options::place_of(std::string_view key) const {
  const Option* option = find(key);
  return option ? option->place : statement_;
}

}  // namespace capstan::script
