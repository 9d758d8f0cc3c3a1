#pragma once

// Bad SQL whose place the engine knows.

#include <cstddef>
#include <string>

#include "base/error.h"

namespace capstan::script {

// `offset` counts bytes from the start of the text that the engine was given. The message says what
// is wrong, not where.
class SqlError : public Error {
 public:
  SqlError(Code code, std::string message, size_t offset)
      : Error(code, std::move(message)), offset_(offset) {}
  size_t offset() const { return offset_; }

 private:
  size_t offset_;
};

}  // namespace capstan::script
