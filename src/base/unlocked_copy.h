#pragma once

// The one place where bytes that another thread may be writing are read: variables without locking.
// A reader may see a half-applied update, as in TensorFlow; the thread sanitizer is told so here.

#include <cstddef>

namespace capstan {

void copy_unlocked(const void* from, void* to, size_t bytes);

}  // namespace capstan
