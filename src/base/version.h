#pragma once

// The version of this build, from the file VERSION at the root of the repository.

#include <string_view>

namespace capstan {

std::string_view version();

}  // namespace capstan
