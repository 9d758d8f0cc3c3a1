#pragma once

// Numbers as bytes: little-endian of fixed width, and varints (seven bits per byte, lowest first).
// The take_ functions read from the front of a view that nobody vouches for: they shorten it, or
// return nothing and leave it alone when it is too short or malformed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace capstan {

constexpr size_t kMaxVarintBytes = 10;

void put_fixed32(std::string& out, uint32_t value);
void put_fixed64(std::string& out, uint64_t value);
void put_varint(std::string& out, uint64_t value);

std::optional<uint32_t> take_fixed32(std::string_view& in);
std::optional<uint64_t> take_fixed64(std::string_view& in);
std::optional<uint64_t> take_varint(std::string_view& in);
// Nothing when the value does not fit in 32 bits.
std::optional<uint32_t> take_varint32(std::string_view& in);
std::optional<std::string_view> take_bytes(std::string_view& in, uint64_t size);

// The first bytes of p as a number; the caller knows that they exist.
uint32_t load_fixed32(const char* p);
uint64_t load_fixed64(const char* p);

}  // namespace capstan
