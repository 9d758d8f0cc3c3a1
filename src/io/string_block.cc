#include "io/string_block.h"

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace capstan {
namespace {

// A length counts in the checksum as four bytes, or as eight where it does not fit.
uint32_t extend_by_length(uint32_t crc, uint64_t length) {
  std::string bytes;
  if (length <= UINT32_MAX) {
    put_fixed32(bytes, static_cast<uint32_t>(length));
  } else {
    put_fixed64(bytes, length);
  }
  return crc32c_extend(crc, bytes);
}

}  // namespace

StringHead encode_string_head(std::span<const std::string> strings) {
  StringHead head;
  for (const std::string& s : strings) {
    put_varint(head.bytes, s.size());
    head.crc = extend_by_length(head.crc, s.size());
  }
  std::string crc;
  put_fixed32(crc, crc32c_mask(head.crc));
  head.crc = crc32c_extend(head.crc, crc);
  head.bytes += crc;
  return head;
}

std::string_view decode_strings(std::string_view in, uint32_t masked_crc,
                                std::span<std::string> out) {
  std::vector<uint64_t> lengths;
  uint32_t crc = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    std::optional<uint64_t> length = take_varint(in);
    if (!length) return "has malformed string lengths";
    crc = extend_by_length(crc, *length);
    lengths.push_back(*length);
  }
  std::optional<std::string_view> stored = take_bytes(in, 4);
  if (!stored || crc32c_mask(crc) != load_fixed32(stored->data())) {
    return "has string lengths that do not match their checksum";
  }
  crc = crc32c_extend(crc32c_extend(crc, *stored), in);
  if (crc32c_mask(crc) != masked_crc) return "does not match its checksum";
  for (size_t i = 0; i < out.size(); ++i) {
    std::optional<std::string_view> text = take_bytes(in, lengths[i]);
    if (!text) return "has strings longer than its bytes";
    out[i] = *text;
  }
  return in.empty() ? "" : "has bytes after its last string";
}

}  // namespace capstan
