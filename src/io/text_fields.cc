#include "io/text_fields.h"

#include <cctype>
#include <charconv>

#include "base/error.h"

namespace capstan {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
         c == '+';
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

class TextParser {
 public:
  TextParser(std::string_view text, const std::string& file) : in_(text), file_(file) {}

  std::vector<TextField> parse() {
    std::vector<TextField> fields;
    while (skip_space(), !in_.empty()) fields.push_back(field());
    return fields;
  }

 private:
  [[noreturn]] void bad(const char* expected) const {
    throw data_loss("{}, line {}: expected {}; repair the file or remove it", file_, line_,
                    expected);
  }

  char take() {
    if (in_.empty()) bad("more text");
    char c = in_.front();
    in_.remove_prefix(1);
    if (c == '\n') ++line_;
    return c;
  }

  void skip_space() {
    while (!in_.empty()) {
      char c = in_.front();
      if (c == '#') {
        while (!in_.empty() && in_.front() != '\n') take();
      } else if (std::isspace(static_cast<unsigned char>(c)) || c == ',' || c == ';') {
        take();
      } else {
        return;
      }
    }
  }

  std::string word() {
    std::string out;
    while (!in_.empty() && is_word(in_.front())) out += take();
    if (out.empty()) bad("a name or a number");
    return out;
  }

  TextField field() {
    TextField out;
    out.line = line_;
    out.name = word();
    skip_space();
    if (in_.empty() || in_.front() != ':') bad("a colon after the field's name");
    take();
    skip_space();
    if (in_.empty()) bad("a value");
    out.quoted = in_.front() == '"' || in_.front() == '\'';
    out.value = out.quoted ? string() : word();
    return out;
  }

  // Strings that follow each other are one.
  std::string string() {
    std::string out;
    while (!in_.empty() && (in_.front() == '"' || in_.front() == '\'')) {
      char quote = take();
      for (char c; (c = take()) != quote;) {
        if (c == '\n') bad("the closing quote");
        out += c == '\\' ? escape() : c;
      }
      skip_space();
    }
    return out;
  }

  char escape() {
    char c = take();
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case 'a': return '\a';
      case 'b': return '\b';
      case 'f': return '\f';
      case 'v': return '\v';
      case 'x':
      case 'X': return coded(16, 2, 0);
      default: return c >= '0' && c <= '7' ? coded(8, 2, c - '0') : c;
    }
  }

  char coded(int base, int limit, int value) {
    for (int i = 0; i < limit && !in_.empty() && digit_of(in_.front()) < base; ++i) {
      value = value * base + digit_of(take());
    }
    return static_cast<char>(value);
  }

  std::string_view in_;
  const std::string& file_;
  int line_ = 1;
};

}  // namespace

const std::string& TextField::text(const std::string& file) const {
  if (!quoted) throw data_loss("{}, line {}: {} should be a quoted text", file, line, name);
  return value;
}

double TextField::number(const std::string& file) const {
  double out = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (quoted || error != std::errc() || end != value.data() + value.size()) {
    throw data_loss("{}, line {}: {} should be a number, not '{}'", file, line, name, value);
  }
  return out;
}

std::vector<TextField> parse_text_fields(std::string_view text, const std::string& file) {
  return TextParser(text, file).parse();
}

std::string quote_text(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace capstan
