#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace capstan {

// One contiguous block: n elements of each input to n of the output. `out` may be one of `in`. An
// element's result depends on its operands alone, never on where it stands in the block.
using BlockFn = void (*)(const void* const* in, void* out, int64_t n);

}  // namespace capstan
