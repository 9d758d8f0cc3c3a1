#pragma once

// Text that came from elsewhere, fit for a terminal. Control characters could move the cursor, hide
// lines or set the window's title.

#include <string>
#include <string_view>

namespace capstan {

// Control characters and bytes that are no UTF-8 as "\x1b"; line breaks and tabs stay.
std::string printable(std::string_view text);

// For what a program prints itself: colours (ESC [ 1 m) stay too; its other commands to a
// terminal, which mean nothing among the lines of others, are left out.
std::string printable_with_colours(std::string_view text);

// Length of the UTF-8 sequence at the front, or 0 if there is none.
size_t utf8_length(std::string_view text);

}  // namespace capstan
