#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace capstan {
namespace {

// C1 controls are two bytes in UTF-8; some terminals obey them like ESC [.
bool is_control(std::string_view sequence) {
  auto first = static_cast<unsigned char>(sequence[0]);
  bool layout = first == '\n' || first == '\t';
  if (sequence.size() == 1) return (first < 0x20 && !layout) || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n'; });
}

// Length of the "ESC [ parameters letter" at the front, or 0.
size_t command_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  size_t end = text.find_first_not_of("0123456789:;<=>? !\"#$%&'()*+,-./", 2);
  bool whole = end != text.npos && text[end] >= '@' && text[end] <= '~';
  return whole ? end + 1 : 0;
}

// The next character, or what stands for it.
void append_one(std::string& out, std::string_view& text) {
  size_t length = utf8_length(text);
  std::string_view one = text.substr(0, std::max<size_t>(length, 1));
  text.remove_prefix(one.size());
  if (length > 0 && !is_control(one)) {
    out += one;
    return;
  }
  for (char c : one) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
}

}  // namespace

size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t length = byte(0) < 0x80   ? 1
                  : byte(0) < 0xC2 ? 0
                  : byte(0) < 0xE0 ? 2
                  : byte(0) < 0xF0 ? 3
                  : byte(0) < 0xF5 ? 4
                                   : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Longer than need be (a control in disguise), a surrogate, or beyond the last character.
  const unsigned second = length > 2 ? byte(1) : 0;
  const bool wrong = (byte(0) == 0xE0 && second < 0xA0) || (byte(0) == 0xED && second >= 0xA0) ||
                     (byte(0) == 0xF0 && second < 0x90) || (byte(0) == 0xF4 && second >= 0x90);
  return wrong ? 0 : length;
}

std::string printable(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  while (!text.empty()) append_one(out, text);
  return out;
}

std::string printable_with_colours(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    size_t command = command_length(text);
    if (command == 0) {
      append_one(out, text);
      continue;
    }
    if (text[command - 1] == 'm') out += text.substr(0, command);
    text.remove_prefix(command);
  }
  return out;
}

}  // namespace capstan
