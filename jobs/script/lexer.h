#pragma once

// The words of a script, one at a time and in linear time. Comments and white space are passed
// over; any character is a token at worst, so that reading never fails: docs/formats/job-script.md.

#include <memory>
#include <optional>
#include <string_view>

#include "jobs/script/place.h"

namespace capstan::script {

enum class TokenKind {
  kEnd,
  kWord,      // letters, digits and _ that are not reserved
  kReserved,  // as, load, where, …
  kQuoted,    // `…`
  kString,    // '…' or "…"
  kBlock,     // '''…'''
  kCommand,   // !name
  kOther,     // any other character
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // as written, quotes included
  size_t begin = 0;

  size_t end() const { return begin + text.size(); }
  bool is(char c) const { return kind == TokenKind::kOther && text.size() == 1 && text[0] == c; }
  // A reserved word; `word` in lower case.
  bool is(std::string_view word) const;
  bool is_name() const { return kind == TokenKind::kWord || kind == TokenKind::kQuoted; }
  // Without the quotes; nothing is unescaped.
  std::string_view value() const;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();
  // The first quote or comment that nothing closes, once it was passed.
  std::optional<size_t> unclosed() const { return unclosed_; }

 private:
  void skip_hidden();
  bool skip_comment();
  size_t length_at_front();
  size_t quoted_length();
  size_t string_length(char quote);
  size_t block_length();
  bool nothing_closes(bool& known);

  std::string_view rest() const { return text_.substr(at_); }

  std::string_view text_;
  size_t at_ = 0;
  TokenKind kind_ = TokenKind::kEnd;
  // What is not closed once is not closed later: every search that reaches the end is the last of
  // its kind, hence the linear time.
  bool open_quoted_ = false, open_single_ = false, open_double_ = false, open_block_ = false,
       open_comment_ = false;
  std::optional<size_t> unclosed_;
};

}  // namespace capstan::script
