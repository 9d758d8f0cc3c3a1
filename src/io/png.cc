#include "io/png.h"

#include <zlib.h>

#include "base/error.h"

namespace capstan {
namespace {

void put_big_endian(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += char(value >> shift);
}

void put_chunk(std::string& out, const char* type, const std::string& data) {
  put_big_endian(out, uint32_t(data.size()));
  const size_t start = out.size();
  out += type;
  out += data;
  const auto* bytes = reinterpret_cast<const Bytef*>(out.data() + start);
  put_big_endian(out, uint32_t(::crc32(0, bytes, uInt(out.size() - start))));
}

std::string header(int64_t height, int64_t width, int64_t channels) {
  constexpr char kColourType[] = {0, 0, 4, 2, 6};  // by the number of channels
  std::string data;
  put_big_endian(data, uint32_t(width));
  put_big_endian(data, uint32_t(height));
  data += char(8);  // bits of a channel
  data += kColourType[channels];
  data.append(3, '\0');  // deflate, filters by row, not interlaced
  return data;
}

// Each row follows the number of its filter: 0, none.
std::string compressed_rows(std::span<const uint8_t> pixels, int64_t height, size_t row_bytes) {
  std::string rows;
  rows.reserve(pixels.size() + size_t(height));
  for (int64_t y = 0; y < height; ++y) {
    rows += '\0';
    const uint8_t* row = pixels.data() + size_t(y) * row_bytes;
    rows.append(reinterpret_cast<const char*>(row), row_bytes);
  }
  uLongf size = ::compressBound(uLong(rows.size()));
  std::string out(size, '\0');
  int code = ::compress(reinterpret_cast<Bytef*>(out.data()), &size,
                        reinterpret_cast<const Bytef*>(rows.data()), uLong(rows.size()));
  if (code != Z_OK) throw resource_exhausted("a picture of {} bytes cannot be packed", rows.size());
  out.resize(size);
  return out;
}

}  // namespace

std::string encode_png(std::span<const uint8_t> pixels, int64_t height, int64_t width,
                       int64_t channels) {
  constexpr int64_t kLargest = 1 << 24;
  if (channels < 1 || channels > 4 || height < 1 || width < 1 || height > kLargest ||
      width > kLargest || int64_t(pixels.size()) != height * width * channels) {
    throw invalid_argument("a picture of {} x {} pixels with {} channels cannot be a PNG", height,
                           width, channels);
  }
  std::string out = "\x89PNG\r\n\x1a\n";
  put_chunk(out, "IHDR", header(height, width, channels));
  put_chunk(out, "IDAT", compressed_rows(pixels, height, size_t(width * channels)));
  put_chunk(out, "IEND", "");
  return out;
}

}  // namespace capstan
