#pragma once

// CRC-32C (Castagnoli), the checksum of record files, event files and tensor bundles, and the mask
// that keeps a checksum of bytes which themselves hold checksums from degenerating.

#include <cstdint>
#include <string_view>

namespace capstan {

// The checksum of a + b, given crc, the checksum of a.
uint32_t crc32c_extend(uint32_t crc, std::string_view bytes);
inline uint32_t crc32c(std::string_view bytes) { return crc32c_extend(0, bytes); }

// What stands in files instead of the bare checksum.
constexpr uint32_t kCrcMaskDelta = 0xa282ead8u;
constexpr uint32_t crc32c_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kCrcMaskDelta; }
constexpr uint32_t crc32c_unmask(uint32_t masked) {
  uint32_t rotated = masked - kCrcMaskDelta;
  return (rotated >> 17) | (rotated << 15);
}
inline uint32_t masked_crc32c(std::string_view bytes) { return crc32c_mask(crc32c(bytes)); }

// The same without special instructions: what other processors run, and what tests compare with.
uint32_t crc32c_extend_portable(uint32_t crc, std::string_view bytes);

}  // namespace capstan
