#pragma once

// Writes small JSON objects, in the order of their fields. Reading JSON is another matter, and so
// is the time that a whole JSON library takes to compile.

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

#include "base/task_channel.h"

namespace capstan::jobs {

class JsonObject {
 public:
  JsonObject& add(std::string_view name, std::string_view text) {
    return add_json(name, json_quote(text));
  }
  JsonObject& add(std::string_view name, const char* text) {
    return add(name, std::string_view(text));
  }
  JsonObject& add(std::string_view name, std::same_as<bool> auto value) {
    return add_json(name, value ? "true" : "false");
  }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  JsonObject& add(std::string_view name, Number value) {
    return add_json(name, fmt::format("{}", value));
  }
  // JSON has no NaN and no infinity.
  JsonObject& add(std::string_view name, std::floating_point auto value) {
    return add_json(name, std::isfinite(value) ? fmt::format("{}", value) : "null");
  }
  // `json` is JSON already.
  JsonObject& add_json(std::string_view name, std::string_view json) {
    body_ += (body_.empty() ? "" : ",") + json_quote(name) + ":";
    body_ += json;
    return *this;
  }

  std::string text() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

// A list of whatever `to_json` makes of each element.
template <class List, class ToJson>
std::string json_list(const List& list, ToJson to_json) {
  std::string body;
  for (const auto& element : list) body += (body.empty() ? "" : ",") + to_json(element);
  return "[" + body + "]";
}

template <class List>
std::string json_strings(const List& list) {
  return json_list(list, [](std::string_view text) { return json_quote(text); });
}

}  // namespace capstan::jobs
