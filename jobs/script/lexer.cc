#include "jobs/script/lexer.h"

#include "base/printable.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

constexpr std::string_view kReservedWords[] = {
    "as",     "into",        "load",      "save",       "select",  "insert",
    "create", "drop",        "refresh",   "set",        "connect", "train",
    "run",    "predict",     "register",  "unregister", "include", "options",
    "where",  "partitionby", "overwrite", "append",     "ignore",  "and"};

size_t word_length(std::string_view text) {
  size_t length = 0;
  while (length < text.size() && is_word_char(text[length])) ++length;
  return length;
}

}  // namespace

bool is_reserved(std::string_view word) {
  return std::ranges::any_of(kReservedWords, [&](auto known) { return same_word(word, known); });
}

bool Token::is(std::string_view word) const {
  return kind == TokenKind::kReserved && same_word(text, word);
}

std::string_view Token::value() const {
  switch (kind) {
    case TokenKind::kQuoted:
    case TokenKind::kString: return text.substr(1, text.size() - 2);
    case TokenKind::kBlock: return text.substr(3, text.size() - 6);
    case TokenKind::kCommand: return text.substr(1);
    default: return text;
  }
}

bool Lexer::nothing_closes(bool& known) {
  known = true;
  if (!unclosed_) unclosed_ = at_;
  return true;
}

bool Lexer::skip_comment() {
  if (rest().starts_with("--")) {
    at_ = std::min(text_.find('\n', at_), text_.size());
    return true;
  }
  const bool hint = rest().starts_with("/*+");
  if (!rest().starts_with("/*") || hint || open_comment_) return false;
  const size_t end = text_.find("*/", at_ + 2);
  if (end == text_.npos) return !nothing_closes(open_comment_);
  at_ = end + 2;
  return true;
}

void Lexer::skip_hidden() {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // some editors begin files with it
  if (at_ == 0 && rest().starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  for (;;) {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ == text_.size() || !skip_comment()) return;
  }
}

// The longest text that ends at a backquote, doubled ones inside; 0: there is none.
size_t Lexer::quoted_length() {
  if (open_quoted_) return 0;
  size_t end = text_.find('`', at_ + 1);
  if (end == text_.npos) return !nothing_closes(open_quoted_);
  while (end + 1 < text_.size() && text_[end + 1] == '`') {
    const size_t later = text_.find('`', end + 2);
    if (later == text_.npos) break;
    end = later;
  }
  return end + 1 - at_;
}

size_t Lexer::string_length(char quote) {
  bool& open = quote == '\'' ? open_single_ : open_double_;
  if (open) return 0;
  const char stops[] = {quote, '\\'};
  size_t end = at_ + 1;
  for (;;) {
    end = text_.find_first_of(std::string_view(stops, 2), end);
    if (end == text_.npos) return !nothing_closes(open);
    if (text_[end] == quote) return end + 1 - at_;
    end += 2;
  }
}

// ''' then a character other than +, then the first '''.
size_t Lexer::block_length() {
  const std::string_view text = rest();
  if (open_block_ || !text.starts_with("'''") || text.size() < 7 || text[3] == '+') return 0;
  const size_t end = text.find("'''", 4);
  if (end == text.npos) return !nothing_closes(open_block_);
  return end + 3;
}

// Sets kind_.
size_t Lexer::length_at_front() {
  const char first = text_[at_];
  size_t length = word_length(rest());
  if (length > 0) {
    const bool reserved = is_reserved(rest().substr(0, length));
    kind_ = reserved ? TokenKind::kReserved : TokenKind::kWord;
    return length;
  }
  kind_ = TokenKind::kBlock;
  if (first == '\'' && (length = block_length()) > 0) return length;
  kind_ = TokenKind::kString;
  if ((first == '\'' || first == '"') && (length = string_length(first)) > 0) return length;
  kind_ = TokenKind::kQuoted;
  if (first == '`' && (length = quoted_length()) > 0) return length;
  kind_ = TokenKind::kCommand;
  if (first == '!' && (length = word_length(rest().substr(1))) > 0) return length + 1;
  kind_ = TokenKind::kOther;
  return std::max<size_t>(1, utf8_length(rest()));
}

Token Lexer::next() {
  skip_hidden();
  Token token;
  token.begin = at_;
  if (at_ == text_.size()) return token;
  const size_t length = length_at_front();
  token.kind = kind_;
  token.text = text_.substr(at_, length);
  at_ += length;
  return token;
}

}  // namespace capstan::script
