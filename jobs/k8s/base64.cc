#include "jobs/k8s/base64.h"

#include <cstdint>

namespace capstan::jobs::k8s {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string without_blanks(std::string_view text) {
  std::string letters;
  for (char c : text) {
    if (c != '\n' && c != '\r' && c != ' ' && c != '\t') letters += c;
  }
  return letters;
}

size_t letters_of(std::string_view text) {
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  return text.size() - padding;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) {
      word = word << 8 | (i + k < bytes.size() ? uint8_t(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      out += i + k > bytes.size() ? '=' : kLetters[word >> (18 - 6 * k) & 63];
    }
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  const std::string letters = without_blanks(text);
  if (letters.size() % 4 != 0) return {};
  std::string out;
  uint32_t word = 0;
  int bits = 0;
  for (char c : std::string_view(letters).substr(0, letters_of(letters))) {
    const size_t value = kLetters.find(c);
    if (value == kLetters.npos) return {};
    word = word << 6 | uint32_t(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += char(word >> bits & 255);
  }
  return out;
}

}  // namespace capstan::jobs::k8s
