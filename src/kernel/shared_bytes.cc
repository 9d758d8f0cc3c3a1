#include "kernel/shared_bytes.h"

#include <algorithm>

#include "base/unlocked_copy.h"

namespace capstan {

void copy_shared(const Tensor& from, Tensor& to) {
  if (from.dtype() == DType::kString) {
    std::copy_n(from.data<std::string>(), from.size(), to.data<std::string>());
  } else {
    copy_unlocked(from.raw(), to.raw(), from.bytes());
  }
}

}  // namespace capstan
