#include "jobs/duck/spark_sql.h"

#include <algorithm>
#include <cctype>

#include "base/printable.h"
#include "jobs/duck/connection.h"
#include "jobs/duck/tables.h"
#include "jobs/script/sql_error.h"

namespace capstan::duck {
namespace {

using Kind = Token::Kind;
using script::SqlError;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80);
}

[[noreturn]] void fail(std::string message, size_t offset) {
  throw SqlError(Code::kInvalidArgument, std::move(message), offset);
}

// Reads one token or comment after the other.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  bool done() const { return at_ >= text_.size(); }

  // Past spaces and comments.
  void skip() {
    while (!done()) {
      if (is_space(peek())) {
        ++at_;
      } else if (peek() == '-' && peek(1) == '-') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (peek() == '/' && peek(1) == '*') {
        skip_comment();
      } else {
        return;
      }
    }
  }

  Token next() {
    size_t begin = at_;
    char c = peek();
    Token token{Kind::kSign, std::string(1, c), begin, 0, {}};
    if (c == '`') {
      token = {Kind::kName, until_quote('`', false), begin, 0, {}};
    } else if (c == '\'' || c == '"') {
      token = {Kind::kText, until_quote(c, true), begin, 0, {}};
    } else if (std::isdigit(static_cast<unsigned char>(c)) ||
               (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))))) {
      token = {Kind::kNumber, number(), begin, 0, {}};
    } else if (is_word(c)) {
      token = {Kind::kWord, lower(word()), begin, 0, {}};
    } else {
      ++at_;
    }
    token.end = at_;
    return token;
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_comment() {
    size_t end = text_.find("*/", at_ + 2);
    if (end == text_.npos) fail("this comment does not end", at_);
    at_ = end + 2;
  }

  std::string word() {
    size_t begin = at_;
    while (!done() && is_word(peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string number() {
    size_t begin = at_;
    while (!done() && (is_word(peek()) || peek() == '.' ||
                       ((peek() == '-' || peek() == '+') && std::tolower(text_[at_ - 1]) == 'e' &&
                        std::isdigit(static_cast<unsigned char>(peek(1)))))) {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string until_quote(char quote, bool escapes) {
    size_t begin = at_++;
    std::string out;
    while (!done()) {
      char c = text_[at_++];
      if (c == quote && peek() != quote) return out;
      if (c == quote) ++at_;
      if (c == '\\' && escapes && !done()) {
        out += escaped();
      } else {
        out += c;
      }
    }
    fail(quote == '`' ? "this backquote has no partner" : "this quote has no partner", begin);
  }

  // What follows a backslash. An escape that Spark does not know keeps it, as in '\d+'.
  std::string escaped() {
    char c = text_[at_++];
    switch (c) {
      case 'n': return "\n";
      case 't': return "\t";
      case 'r': return "\r";
      case '\\':
      case '\'':
      case '"': return std::string(1, c);
      default: return std::string("\\") + c;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

void check_bytes(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = text[i] == '\0' ? 0 : utf8_length(text.substr(i));
    if (length == 0) fail("this byte is no UTF-8 text", i);
    i += length;
  }
}

// E'…', x'…': DuckDB would read the text in another way than we did.
bool is_prefix(const std::vector<Token>& tokens, const Token& text) {
  return !tokens.empty() && tokens.back().kind == Kind::kWord && tokens.back().end == text.offset &&
         tokens.back().text.size() <= 2;
}

}  // namespace

SparkSql::SparkSql(std::string_view given) {
  check_bytes(given);
  Reader reader(given);
  for (reader.skip(); !reader.done(); reader.skip()) {
    Token token = reader.next();
    std::string_view as_given = given.substr(token.offset, token.end - token.offset);
    if (token.kind == Kind::kSign && token.text == ";") {
      reader.skip();
      if (!reader.done()) fail("one statement is expected; here a second one begins", reader.at());
      break;
    }
    if (token.kind == Kind::kWord && as_given.find('$') != as_given.npos) {
      fail("$ has no meaning here", token.offset);
    }
    if (token.kind == Kind::kText && is_prefix(tokens_, token)) {
      fail("text takes no letter before its quote", token.offset);
    }
    token.spelled = as_given;
    if (token.kind == Kind::kName) token.spelled = sql_name(token.text);
    if (token.kind == Kind::kText) token.spelled = sql_text(token.text);
    tokens_.push_back(std::move(token));
  }
  respell(tokens_);
  join();
}

void SparkSql::join() {
  size_t end = 0;
  for (const Token& token : tokens_) {
    // Tokens keep their distance: `a.b` stays one name, `a b` two.
    if (!text_.empty() && end != token.offset) text_ += ' ';
    pieces_.push_back({text_.size(), token.offset});
    text_ += token.spelled;
    end = token.end;
  }
}

std::string SparkSql::text_from(size_t token) const {
  return token < pieces_.size() ? text_.substr(pieces_[token].to) : "";
}

size_t SparkSql::given_offset(size_t offset) const {
  auto after = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                [](size_t at, const Piece& piece) { return at < piece.to; });
  if (after == pieces_.begin()) return 0;
  const Piece& piece = *(after - 1);
  const Token& token = tokens_[after - 1 - pieces_.begin()];
  return std::min(piece.from + (offset - piece.to), token.end);
}

}  // namespace capstan::duck
