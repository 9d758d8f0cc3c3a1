#pragma once

// Fields of JSON that others wrote, taken as they are only if they have the type that is asked for.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace capstan::jobs::k8s {

// Null for whatever is not there.
inline const nlohmann::json& at(const nlohmann::json& object, std::string_view name) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

template <class... Names>
const nlohmann::json& at(const nlohmann::json& object, std::string_view name, Names... names) {
  return at(at(object, name), names...);
}

inline std::string text_at(const nlohmann::json& object, std::string_view name) {
  const nlohmann::json& value = at(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

inline std::optional<int64_t> whole_at(const nlohmann::json& object, std::string_view name) {
  const nlohmann::json& value = at(object, name);
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<int64_t>();
}

inline bool flag_at(const nlohmann::json& object, std::string_view name, bool otherwise) {
  const nlohmann::json& value = at(object, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

// The elements of a list; none of anything else.
inline const nlohmann::json::array_t& list_at(const nlohmann::json& object, std::string_view name) {
  static const nlohmann::json::array_t kNone;
  const nlohmann::json& value = at(object, name);
  return value.is_array() ? value.get_ref<const nlohmann::json::array_t&>() : kNone;
}

}  // namespace capstan::jobs::k8s
