#pragma once

// Pictures as PNG files in memory.

#include <cstdint>
#include <span>
#include <string>

namespace capstan {

// Rows of pixels with 1 (grey), 2 (grey and alpha), 3 (rgb) or 4 (rgba) bytes each; throws
// InvalidArgument for any other number of them, and for a picture without pixels.
std::string encode_png(std::span<const uint8_t> pixels, int64_t height, int64_t width,
                       int64_t channels);

}  // namespace capstan
