#pragma once

// The body of a macro with its arguments put in: `{}`, `{1}`, `{1:default}`, `{:all}`; or, where
// the first argument is `_`, `-name value` for the `${name}` of the body.

#include <string>
#include <string_view>
#include <vector>

namespace capstan::script {

// Throws InvalidArgument for an argument that is missing. Braces around anything else stay.
std::string expand_macro(std::string_view name, std::string_view body,
                         const std::vector<std::string>& arguments);

}  // namespace capstan::script
