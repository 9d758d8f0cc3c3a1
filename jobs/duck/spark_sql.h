#pragma once

// SQL as users of job scripts write it, in Spark's spelling, made DuckDB's: `` `a b` `` is a name,
// "text" is text like 'text', both with backslash escapes; see respell() for words. Comments become
// spaces, so that what is checked and what runs cannot be read differently.

#include <string>
#include <string_view>
#include <vector>

namespace capstan::duck {

struct Token {
  enum class Kind { kWord, kName, kText, kNumber, kSign };
  Kind kind;
  std::string text;     // of words in small letters, of names and texts what they stand for
  size_t offset;        // in the text that was given
  size_t end;           // behind it, there
  std::string spelled;  // for DuckDB
};

// Spark's words that no macro can stand for: rlike, <=>, array(…), struct(…), lateral view, and
// patterns of dates. Changes how tokens are spelled, never how many there are.
void respell(std::vector<Token>& tokens);

class SparkSql {
 public:
  // Throws SqlError: a quote, backquote or comment that does not end, a zero byte, a `;` that is
  // not at the end, bytes that are no UTF-8.
  explicit SparkSql(std::string_view given);

  const std::string& text() const { return text_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  // The part from a token to the end, for DuckDB.
  std::string text_from(size_t token) const;
  // Where in the given text a place of text() comes from.
  size_t given_offset(size_t offset) const;
  // Where in text() a token begins.
  size_t begin_of(size_t token) const { return pieces_[token].to; }

 private:
  struct Piece {
    size_t to, from;
  };
  void join();

  std::string text_;
  std::vector<Token> tokens_;
  std::vector<Piece> pieces_;  // one per token
};

}  // namespace capstan::duck
