#pragma once

// Java's patterns for dates (yyyy-MM-dd) as strftime's (%Y-%m-%d).

#include <string>
#include <string_view>

namespace capstan::duck {

// Throws InvalidArgument for a letter without a counterpart.
std::string date_pattern(std::string_view java);

}  // namespace capstan::duck
