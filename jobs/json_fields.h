#pragma once

// Numbers of JSON that others wrote, checked before they are narrowed. All throw DataLoss.

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace capstan::jobs {

// For a message: short, and whatever nests deeply is only named.
inline std::string short_text(const nlohmann::json& json) {
  return json.is_primitive() ? json.dump().substr(0, 20) : json.type_name();
}

template <std::integral T>
T whole_of(const nlohmann::json& json, T least = std::numeric_limits<T>::min()) {
  const bool whole = json.is_number_integer();
  const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>())
                                              : whole && std::in_range<T>(json.get<int64_t>());
  if (!whole || !fits || json.get<T>() < least) {
    throw data_loss("{} is not a whole number in its bounds", short_text(json));
  }
  return json.get<T>();
}

template <std::integral T>
T whole_at(const nlohmann::json& json, const char* name, T least = std::numeric_limits<T>::min()) {
  return whole_of<T>(json.at(name), least);
}

// A time of the machine's clock, or a span of it: the clock counts no further.
inline bool is_time(double seconds) { return seconds >= -4e9 && seconds <= 4e9; }

inline double seconds_at(const nlohmann::json& json, const char* name) {
  const double seconds = json.at(name).get<double>();
  if (!is_time(seconds)) throw data_loss("{} is no time", name);
  return seconds;
}

}  // namespace capstan::jobs
