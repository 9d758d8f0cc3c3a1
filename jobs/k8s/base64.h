#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace capstan::jobs::k8s {

std::string base64_encode(std::string_view bytes);
// Line breaks and blanks do not count. Nothing for what is no base64.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace capstan::jobs::k8s
