#include "jobs/k8s/yaml_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/k8s/yaml_scalar.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

bool is_plain_character(char c) {
  constexpr std::string_view kOthers = " _-./+%()$=;^~|";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != kOthers.npos;
}

// A word that is read as the same text without quotes.
bool is_plain(const std::string& text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '.';
  };
  if (text.empty() || !is_letter(text[0]) || text.back() == ' ' || text.starts_with("...")) {
    return false;
  }
  if (!std::ranges::all_of(text, is_plain_character)) return false;
  try {
    return scalar_value("?", text).is_string();
  } catch (const std::exception&) {
    return false;
  }
}

std::string scalar_text(const json& value) {
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    return is_plain(text) ? text : value.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  if (value.is_object()) return "{}";
  return value.is_array() ? "[]" : value.dump();
}

void append(const json& value, size_t indent, std::string& out);

bool is_block(const json& value) { return value.is_structured() && !value.empty(); }

void append_map(const json& value, size_t indent, bool in_list, std::string& out) {
  for (const auto& [name, one] : value.items()) {
    if (!std::exchange(in_list, false)) out.append(indent, ' ');
    out += scalar_text(name) + ":";
    if (!is_block(one)) {
      out += " " + scalar_text(one) + "\n";
      continue;
    }
    out += "\n";
    append(one, one.is_array() ? indent : indent + 2, out);
  }
}

void append(const json& value, size_t indent, std::string& out) {
  if (value.is_object()) return append_map(value, indent, false, out);
  for (const json& one : value) {
    out.append(indent, ' ');
    out += "- ";
    if (one.is_object() && !one.empty()) {
      append_map(one, indent + 2, true, out);
    } else if (is_block(one)) {
      out.back() = '\n';
      append(one, indent + 2, out);
    } else {
      out += scalar_text(one) + "\n";
    }
  }
}

}  // namespace

std::string yaml_text(const json& value) {
  if (!is_block(value)) return scalar_text(value) + "\n";
  std::string out;
  append(value, 0, out);
  return out;
}

}  // namespace capstan::jobs::k8s
