#include "base/bytes.h"

namespace capstan {
namespace {

template <class T>
void put_fixed(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

template <class T>
T load_fixed(const char* p) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= T{static_cast<uint8_t>(p[i])} << (8 * i);
  return value;
}

template <class T>
std::optional<T> take_fixed(std::string_view& in) {
  if (in.size() < sizeof(T)) return std::nullopt;
  T value = load_fixed<T>(in.data());
  in.remove_prefix(sizeof(T));
  return value;
}

}  // namespace

void put_fixed32(std::string& out, uint32_t value) { put_fixed(out, value); }
void put_fixed64(std::string& out, uint64_t value) { put_fixed(out, value); }
uint32_t load_fixed32(const char* p) { return load_fixed<uint32_t>(p); }
uint64_t load_fixed64(const char* p) { return load_fixed<uint64_t>(p); }
std::optional<uint32_t> take_fixed32(std::string_view& in) { return take_fixed<uint32_t>(in); }
std::optional<uint64_t> take_fixed64(std::string_view& in) { return take_fixed<uint64_t>(in); }

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

std::optional<uint64_t> take_varint(std::string_view& in) {
  uint64_t value = 0;
  for (size_t i = 0; i < in.size() && i < kMaxVarintBytes; ++i) {
    uint64_t byte = static_cast<uint8_t>(in[i]);
    if (i == kMaxVarintBytes - 1 && byte > 1) return std::nullopt;  // would not fit in 64 bits
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      in.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> take_varint32(std::string_view& in) {
  std::string_view rest = in;
  std::optional<uint64_t> value = take_varint(rest);
  if (!value || *value > UINT32_MAX) return std::nullopt;
  in = rest;
  return static_cast<uint32_t>(*value);
}

std::optional<std::string_view> take_bytes(std::string_view& in, uint64_t size) {
  if (size > in.size()) return std::nullopt;
  std::string_view taken = in.substr(0, size);
  in.remove_prefix(size);
  return taken;
}

}  // namespace capstan
