#pragma once

// Text in columns, for terminals and pipes.

#include <string>
#include <string_view>
#include <vector>

namespace capstan::jobs {

using Row = std::vector<std::string>;

// Columns as wide as their widest entry, two spaces apart. Lines longer than `widest` characters
// are cut; 0: none are.
std::vector<std::string> text_table(const std::vector<Row>& rows, size_t widest = 0);

// In characters, not bytes.
size_t width_of(std::string_view text);
std::string cut_to(std::string_view text, size_t characters);

// "45 s", "3 min 07 s", "2 h 05 min", "3 d 4 h"
std::string duration_text(double seconds);

}  // namespace capstan::jobs
