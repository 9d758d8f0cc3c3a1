#pragma once

// Where the values of a layout lie: each gets its offset, and those whose times do not meet share
// memory.

#include "exec/layout.h"

namespace capstan {

// Needs storage and lifetimes of all values; sets offsets and arena_bytes. in_place: an
// element-wise action may write where an operand was that nobody needs any more.
void place_in_arena(Layout& layout, bool in_place);

}  // namespace capstan
