#pragma once

// Block functions that several rows use. That of one row alone stands beside it.

#include "base/isa.h"
#include "tensor/block.h"

namespace capstan {

// in[0] + in[1], for all numeric types.
BlockFn add_block(DType type, Isa isa);

// in[0] ? in[1] : in[2], the first of bool, the others of `type`: any type of 1, 2, 4 or 8 bytes.
BlockFn select_block(DType type, Isa isa);

// Any pair of the numeric types and bool. Real numbers are cut towards zero; what does not fit an
// int32 or int64 becomes its lowest number. The narrower and the unsigned types take the low bits
// of those.
BlockFn cast_block(DType from, DType to, Isa isa);

}  // namespace capstan
