#pragma once

// Runs a drawn row every way that the engine has: shape function, kernel, plan with folding, and
// gradient. A row gives outputs of the shape that it announced, the same ones every way, or throws
// an Error; nothing else.

#include <string>
#include <string_view>

#include "graph/op_def.h"

namespace capstan {

struct RowCheck {
  std::string fault;      // empty: none
  bool computed = false;  // the kernel gave values: the draw was not refused
};

// The row on the draw that these bytes make.
RowCheck check_row(const OpDef& def, std::string_view bytes);

}  // namespace capstan
