#pragma once

// TF_CONFIG belongs to the program, which reads it with a JSON parser of its own; what is wrong
// with it is said before that.

#include <string_view>

namespace capstan::cli {

// Throws InvalidArgument that names what is wrong with cluster or task. Empty, {} and keys that
// mean nothing to us are fine.
void check_tf_config(std::string_view text);

}  // namespace capstan::cli
