#pragma once

// Runs a drawn row every way that the engine has: shape function, kernel, plan with folding, and
// gradient. A row gives outputs of the shape that it announced, the same ones every way, or throws
// an Error; nothing else.

#include <string>
#include <string_view>

#include "graph/op_def.h"

namespace capstan {

// What is wrong with the row on the draw that these bytes make; empty if nothing is.
std::string check_row(const OpDef& def, std::string_view bytes);

}  // namespace capstan
