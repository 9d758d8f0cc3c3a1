#pragma once

// Rows as text, for people and for other programs.

#include <string>

#include "jobs/script/table.h"

namespace capstan::script {

// Aligned columns with a header, numbers to the right; fit for a terminal whatever the cells hold.
// Lines longer than `widest` characters are cut; 0: none are. `bold`: the header.
std::string rows_as_table(const Rows& rows, size_t widest = 0, bool bold = false);

// One object in each line. Nested values are JSON themselves; null and NaN are null.
std::string rows_as_json(const Rows& rows);

// RFC 4180, with a header before the first row; null is empty, and an empty text is "".
std::string rows_as_csv(const Rows& rows);

}  // namespace capstan::script
