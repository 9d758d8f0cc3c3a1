#pragma once

// One token ahead, and what would have fitted there: the parser's errors come from here.

#include <string>
#include <string_view>
#include <vector>

#include "jobs/script/ast.h"
#include "jobs/script/lexer.h"

namespace capstan::script {

class TokenReader {
 public:
  explicit TokenReader(std::shared_ptr<const Source> source);

  const Token& now() const { return now_; }
  size_t last_end() const { return last_end_; }  // of the token before
  Place place(size_t offset) const { return {source_, offset}; }

  Token take();
  // Whether it is there; if not, errors name it among what was expected.
  bool sees(std::string_view word);
  bool sees(char c);
  bool accept(std::string_view word);
  bool accept(char c);
  void expect(std::string_view word);
  void expect(char c);
  // `what`: "the name of a table"
  Text expect_name(std::string_view what);
  // '…', "…" or '''…'''
  Text expect_text(std::string_view what);
  // A hint for the next error, unless something is taken before.
  void hint(std::string text) { hint_ = std::move(text); }

  [[noreturn]] void fail();
  // `what` besides was expected.
  [[noreturn]] void fail(std::string_view what);

 private:
  std::string found() const;
  std::string remedy() const;

  std::shared_ptr<const Source> source_;
  Lexer lexer_;
  Token now_, last_;
  size_t last_end_ = 0;
  std::vector<std::string> expected_;  // as shown
  std::vector<std::string> words_;     // those of them that are words
  std::string hint_;
};

Text value_of(const Token& token);
// A letter that is part of no name outside backquotes.
bool is_foreign(const Token& token);

}  // namespace capstan::script
