#pragma once

// How a bundle stores a tensor of strings: lengths as varints, a checksum of the lengths, the
// strings.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace capstan {

struct StringHead {
  std::string bytes;  // lengths and their checksum
  uint32_t crc = 0;   // to be extended by the strings
};
StringHead encode_string_head(std::span<const std::string> strings);

// Fills `out` from untrusted bytes whose masked checksum should be `masked_crc`. Returns what is
// wrong ("does not match its checksum"), or nothing.
std::string_view decode_strings(std::string_view bytes, uint32_t masked_crc,
                                std::span<std::string> out);

}  // namespace capstan
