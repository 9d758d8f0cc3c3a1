#pragma once

// Memory for values: whole cache lines, and one more that kernels may read past the end. Large ones
// lie in huge pages where the system lends them.

#include <cstddef>

namespace capstan {

constexpr size_t kCacheLine = 64;

// For std::free; null when there is none.
void* allocate_bytes(size_t bytes);

}  // namespace capstan
