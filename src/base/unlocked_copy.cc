#include "base/unlocked_copy.h"

#include <cstring>

namespace capstan {

__attribute__((no_sanitize("thread"))) void copy_unlocked(const void* from, void* to,
                                                          size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  // memcpy itself is intercepted whatever the attribute says.
  const volatile char* source = static_cast<const char*>(from);
  volatile char* target = static_cast<char*>(to);
  for (size_t i = 0; i < bytes; ++i) target[i] = source[i];
#else
  if (bytes > 0) std::memcpy(to, from, bytes);
#endif
}

}  // namespace capstan
