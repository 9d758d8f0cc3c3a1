#pragma once

// Proofs of a secret: HMAC-SHA256.

#include <string>
#include <string_view>

namespace capstan {

// 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view text);

}  // namespace capstan
