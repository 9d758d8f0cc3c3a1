#include "jobs/k8s/query.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "jobs/k8s/kube_api.h"

namespace capstan::jobs::k8s {
namespace {

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
                       hex_value(text[i + 2]) >= 0;
    if (coded) {
      out += char(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// At commas that stand in no parentheses.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (auto part = trim(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

const std::string* text_of(const nlohmann::json* value) {
  return value && value->is_string() ? value->get_ptr<const std::string*>() : nullptr;
}

const nlohmann::json* at(const nlohmann::json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

const std::string* field_of(const nlohmann::json& object, std::string_view path) {
  const nlohmann::json* here = &object;
  while (here && !path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    here = at(*here, path.substr(0, dot));
    path.remove_prefix(std::min(path.size(), dot + 1));
  }
  return text_of(here);
}

const std::string* label_of(const nlohmann::json& object, const std::string& key) {
  const nlohmann::json* metadata = at(object, "metadata");
  const nlohmann::json* labels = metadata ? at(*metadata, "labels") : nullptr;
  return labels ? text_of(at(*labels, key)) : nullptr;
}

}  // namespace

std::string query_escape(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (plain(c)) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

Query parse_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equal = std::min(pair.find('='), pair.size());
    if (pair.empty()) continue;
    query[unescape(pair.substr(0, equal))] =
        unescape(pair.substr(std::min(pair.size(), equal + 1)));
  }
  return query;
}

std::string_view query_value(const Query& query, std::string_view name) {
  auto found = query.find(name);
  return found == query.end() ? std::string_view() : found->second;
}

Selector::Selector(std::string_view labels, std::string_view fields) {
  for (std::string_view rule : split(labels)) labels_.push_back(label_rule(rule));
  for (std::string_view rule : split(fields)) fields_.push_back(field_rule(rule));
}

// A missing value is not the wrong one: "a!=b" holds without a.
bool Selector::Rule::holds(const std::string* value) const {
  const bool found = value && (any_value || std::ranges::count(values, *value) > 0);
  return found == must;
}

Selector::Rule Selector::field_rule(std::string_view text) {
  const size_t equal = text.find('=');
  if (equal == text.npos || equal == 0) {
    throw invalid_argument("'{}' selects no field: write name=value", text);
  }
  const bool unlike = text[equal - 1] == '!';
  const bool twice = equal + 1 < text.size() && text[equal + 1] == '=';
  return {.key = std::string(trim(text.substr(0, equal - (unlike ? 1 : 0)))),
          .must = !unlike,
          .values = {std::string(trim(text.substr(equal + (twice ? 2 : 1))))}};
}

Selector::Rule Selector::label_rule(std::string_view text) {
  if (text.find('=') != text.npos) return field_rule(text);
  if (text[0] == '!') {
    return {.key = std::string(trim(text.substr(1))), .must = false, .any_value = true};
  }
  const size_t space = text.find(' ');
  if (space == text.npos) return {.key = std::string(text), .any_value = true};
  const std::string_view rest = trim(text.substr(space));
  const size_t open = rest.find('(');
  const std::string_view word = trim(rest.substr(0, std::min(open, rest.size())));
  const bool known = word == "in" || word == "notin";
  if (!known || open == rest.npos || rest.back() != ')') {
    throw invalid_argument("'{}' selects no label: write key in (a,b)", text);
  }
  return {.key = std::string(text.substr(0, space)),
          .must = word == "in",
          .values = strings(split(rest.substr(open + 1, rest.size() - open - 2)))};
}

bool Selector::matches(const nlohmann::json& object) const {
  static const std::string kEmpty;
  const auto label = [&](const Rule& rule) { return rule.holds(label_of(object, rule.key)); };
  // A field that is not there is empty.
  const auto field = [&](const Rule& rule) {
    const std::string* value = field_of(object, rule.key);
    return rule.holds(value ? value : &kEmpty);
  };
  return std::ranges::all_of(labels_, label) && std::ranges::all_of(fields_, field);
}

std::vector<std::string> Selector::fields() const {
  std::vector<std::string> names;
  for (const Rule& rule : fields_) names.push_back(rule.key);
  return names;
}

}  // namespace capstan::jobs::k8s
