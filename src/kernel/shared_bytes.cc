#include "kernel/shared_bytes.h"

#include <algorithm>
#include <cstring>

namespace capstan {

__attribute__((no_sanitize("thread"))) void copy_shared(const Tensor& from, Tensor& to) {
  if (from.dtype() == DType::kString) {
    std::copy_n(from.data<std::string>(), from.size(), to.data<std::string>());
    return;
  }
#if defined(__SANITIZE_THREAD__)
  // memcpy itself is intercepted whatever the attribute says.
  const volatile char* source = static_cast<const char*>(from.raw());
  volatile char* target = static_cast<char*>(to.raw());
  for (size_t i = 0; i < from.bytes(); ++i) target[i] = source[i];
#else
  if (from.size()) std::memcpy(to.raw(), from.raw(), from.bytes());
#endif
}

}  // namespace capstan
