#include <fmt/format.h>

#include <algorithm>

#include "jobs/k8s/yaml_reader.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

// Reads the text and tells how far the parser has come.
struct Cursor {
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  const char* at;
  const char** furthest;

  reference operator*() const { return *at; }
  Cursor& operator++() {
    *furthest = std::max(*furthest, ++at);
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Cursor& other) const { return at == other.at; }
};

// Events come when a token has been read: its first character is looked for from its end.
class JsonEvents {
 public:
  JsonEvents(DocumentBuilder& builder, std::string_view text)
      : builder_(builder), text_(text), furthest(text.data()) {}

  bool null() { return add(nullptr, word()); }
  bool boolean(bool value) { return add(value, word()); }
  bool number_integer(int64_t value) { return add(value, number()); }
  bool number_unsigned(uint64_t value) { return add(value, number()); }
  bool number_float(double value, const std::string&) { return add(value, number()); }
  bool string(std::string& value) {
    const TextPlace where = quoted();
    return add(std::move(value), where);
  }
  bool binary(json::binary_t&) { return false; }
  bool start_object(size_t) { return builder_.open(true, before(1)), true; }
  bool start_array(size_t) { return builder_.open(false, before(1)), true; }
  bool end_object() { return builder_.close(), true; }
  bool end_array() { return builder_.close(), true; }
  bool key(std::string& name) {
    const TextPlace where = quoted();
    builder_.key(std::move(name), where);
    return true;
  }
  bool parse_error(size_t, const std::string&, const json::exception& error) {
    std::string what = error.what();
    if (size_t at = what.find("syntax error while parsing "); at != what.npos) {
      what = what.substr(at + std::string_view("syntax error while parsing ").size());
    }
    throw TextError{before(1), "not JSON: " + what};
  }

 private:
  bool add(json value, TextPlace place) {
    builder_.add(std::move(value), place);
    return true;
  }

  size_t read() const { return size_t(furthest - text_.data()); }
  // Events come in the order of the text: what was counted once is not counted again.
  TextPlace place_at(size_t at) {
    if (at < counted_) return {line_, int(at - std::min(at, line_begin_)) + 1};
    for (; counted_ < at; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_begin_ = counted_ + 1;
    }
    return {line_, int(at - line_begin_) + 1};
  }
  TextPlace before(size_t characters) { return place_at(read() - std::min(characters, read())); }
  template <class IsPart>
  TextPlace back_over(size_t end, IsPart is_part) {
    while (end > counted_ && is_part(text_[end - 1])) --end;
    return place_at(end);
  }
  TextPlace word() {
    return back_over(read(), [](char c) { return c >= 'a' && c <= 'z'; });
  }
  // The parser has read one character more.
  TextPlace number() {
    auto is_part = [](char c) {
      return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    };
    size_t end = read();
    if (end > 0 && !is_part(text_[end - 1])) --end;
    return back_over(end, is_part);
  }
  TextPlace quoted() {
    size_t begin = read() >= 2 ? read() - 2 : 0;
    auto escaped = [&](size_t at) {
      size_t slashes = 0;
      while (slashes < at && text_[at - 1 - slashes] == '\\') ++slashes;
      return slashes % 2 == 1;
    };
    while (begin > counted_ && (text_[begin] != '"' || escaped(begin))) --begin;
    return place_at(begin);
  }

  DocumentBuilder& builder_;
  const std::string_view text_;
  size_t counted_ = 0, line_begin_ = 0;
  int line_ = 1;

 public:
  const char* furthest;
};

}  // namespace

std::vector<Document> read_json(std::string_view text, const ReadLimits& limits) {
  size_t nodes = 0;
  DocumentBuilder builder(limits, nodes);
  JsonEvents events(builder, text);
  const char* end = text.data() + text.size();
  json::sax_parse(Cursor{text.data(), &events.furthest}, Cursor{end, &events.furthest}, &events);
  std::vector<Document> documents;
  documents.push_back(builder.take());
  return documents;
}

}  // namespace capstan::jobs::k8s
