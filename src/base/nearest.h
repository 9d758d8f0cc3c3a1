#pragma once

// "Did you mean": the known name that is nearest to what somebody wrote.

#include <span>
#include <string>
#include <string_view>

namespace capstan {

// Number of single-character edits (insert, delete, replace, swap of neighbours) between the two.
size_t edit_distance(std::string_view a, std::string_view b);

// How many edits are still a slip: a quarter of the letters. No guess is better than a bad one.
size_t most_edits(std::string_view wrong);

// Empty if no name is near enough to be a likely slip.
std::string nearest(std::string_view wrong, std::span<const std::string> names);

// "; did you mean X?" or nothing: to be appended to a message.
std::string did_you_mean(std::string_view wrong, std::span<const std::string> names);

}  // namespace capstan
