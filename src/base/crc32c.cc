#include "base/crc32c.h"

#include <array>
#include <cstring>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace capstan {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78u;  // reflected

using Table = std::array<std::array<uint32_t, 256>, 8>;

// table[k][b]: what byte b, followed by k zero bytes, adds to the register.
constexpr Table make_table() {
  Table table{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    table[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (uint32_t b = 0; b < 256; ++b) {
      table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xff];
    }
  }
  return table;
}
constexpr Table kTable = make_table();

uint64_t load64(const char* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

uint32_t byte_step(uint32_t crc, char byte) {
  return (crc >> 8) ^ kTable[0][(crc ^ static_cast<uint8_t>(byte)) & 0xff];
}

uint32_t word_step(uint32_t crc, uint64_t word) {
  word ^= crc;
  uint32_t out = 0;
  for (size_t i = 0; i < 8; ++i) out ^= kTable[7 - i][(word >> (8 * i)) & 0xff];
  return out;
}

}  // namespace

uint32_t crc32c_extend_portable(uint32_t crc, std::string_view bytes) {
  uint32_t state = ~crc;
  const char* p = bytes.data();
  const char* end = p + bytes.size();
  for (; end - p >= 8; p += 8) state = word_step(state, load64(p));
  for (; p != end; ++p) state = byte_step(state, *p);
  return ~state;
}

#ifdef __SSE4_2__
namespace {

// The instruction has a latency of three cycles and a throughput of one, so three lanes run side by
// side; the register is linear, hence a lane is shifted past the next one by a table.
constexpr size_t kLane = 2048;

using Operator = std::array<uint32_t, 32>;  // a matrix over GF(2), by columns

constexpr uint32_t times(const Operator& op, uint32_t vector) {
  uint32_t sum = 0;
  for (size_t i = 0; vector != 0; ++i, vector >>= 1) {
    if (vector & 1) sum ^= op[i];
  }
  return sum;
}

// Moves the register past 2^log2_bits zero bits.
constexpr Operator zeros_operator(int log2_bits) {
  Operator op{};
  op[0] = kPolynomial;
  for (size_t i = 1; i < 32; ++i) op[i] = uint32_t{1} << (i - 1);
  for (int n = 0; n < log2_bits; ++n) {
    Operator square{};
    for (size_t i = 0; i < 32; ++i) square[i] = times(op, op[i]);
    op = square;
  }
  return op;
}

using ShiftTable = std::array<std::array<uint32_t, 256>, 4>;

constexpr ShiftTable make_shift_table() {
  static_assert(kLane * 8 == 1 << 14);
  Operator op = zeros_operator(14);
  ShiftTable table{};
  for (size_t k = 0; k < 4; ++k) {
    for (size_t bit = 0; bit < 8; ++bit) table[k][size_t{1} << bit] = op[8 * k + bit];
    for (size_t n = 1; n < 256; ++n) table[k][n] = table[k][n & (n - 1)] ^ table[k][n & (~n + 1)];
  }
  return table;
}
constexpr ShiftTable kShift = make_shift_table();

uint32_t shift_past_lane(uint32_t state) {
  return kShift[0][state & 0xff] ^ kShift[1][(state >> 8) & 0xff] ^
         kShift[2][(state >> 16) & 0xff] ^ kShift[3][state >> 24];
}

uint32_t three_lanes(uint32_t state, const char* p) {
  uint64_t a = state, b = 0, c = 0;
  for (size_t i = 0; i < kLane; i += 8) {
    a = _mm_crc32_u64(a, load64(p + i));
    b = _mm_crc32_u64(b, load64(p + kLane + i));
    c = _mm_crc32_u64(c, load64(p + 2 * kLane + i));
  }
  uint32_t joined = shift_past_lane(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
  return shift_past_lane(joined) ^ static_cast<uint32_t>(c);
}

}  // namespace

uint32_t crc32c_extend(uint32_t crc, std::string_view bytes) {
  uint32_t state = ~crc;
  const char* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 3 * kLane; p += 3 * kLane, left -= 3 * kLane) state = three_lanes(state, p);
  for (; left >= 8; p += 8, left -= 8) {
    state = static_cast<uint32_t>(_mm_crc32_u64(state, load64(p)));
  }
  for (; left > 0; ++p, --left) state = _mm_crc32_u8(state, static_cast<uint8_t>(*p));
  return ~state;
}
#else
uint32_t crc32c_extend(uint32_t crc, std::string_view bytes) {
  return crc32c_extend_portable(crc, bytes);
}
#endif

}  // namespace capstan
