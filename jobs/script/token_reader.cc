#include "jobs/script/token_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

// "a", "a or b", "a, b or c"
std::string alternatives(const std::vector<std::string>& list) {
  if (list.size() < 2) return list.empty() ? std::string("nothing") : list.front();
  std::vector<std::string> first(list.begin(), list.end() - 1);
  return fmt::format("{} or {}", fmt::join(first, ", "), list.back());
}

constexpr const char* kForeign = "a name of other letters than a to z stands in backquotes";

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

}  // namespace

bool is_foreign(const Token& token) {
  return token.kind == TokenKind::kOther && (token.text[0] & 0x80) != 0;
}

Text value_of(const Token& token) {
  const size_t quotes = token.kind == TokenKind::kBlock ? 3 : token.value() == token.text ? 0 : 1;
  return {std::string(token.value()), token.begin + quotes};
}

TokenReader::TokenReader(std::shared_ptr<const Source> source)
    : source_(std::move(source)), lexer_(source_->text), now_(lexer_.next()) {}

Token TokenReader::take() {
  last_ = now_;
  last_end_ = now_.end();
  now_ = lexer_.next();
  expected_.clear();
  words_.clear();
  hint_.clear();
  return last_;
}

bool TokenReader::sees(std::string_view word) {
  if (now_.is(word)) return true;
  add_once(expected_, std::string(word));
  add_once(words_, std::string(word));
  return false;
}

bool TokenReader::sees(char c) {
  if (now_.is(c)) return true;
  add_once(expected_, fmt::format("\"{}\"", c));
  return false;
}

bool TokenReader::accept(std::string_view word) { return sees(word) && (take(), true); }

bool TokenReader::accept(char c) { return sees(c) && (take(), true); }

void TokenReader::expect(std::string_view word) {
  if (!accept(word)) fail();
}

void TokenReader::expect(char c) {
  if (!accept(c)) fail();
}

Text TokenReader::expect_name(std::string_view what) {
  if (!now_.is_name()) fail(what);
  return value_of(take());
}

Text TokenReader::expect_text(std::string_view what) {
  if (now_.kind != TokenKind::kString && now_.kind != TokenKind::kBlock) fail(what);
  return value_of(take());
}

std::string TokenReader::found() const {
  if (now_.kind == TokenKind::kEnd) return "the end of the script";
  return now_.kind == TokenKind::kOther ? fmt::format("\"{}\"", shown(now_.text))
                                        : shown(now_.text);
}

// What somebody who wrote this should write instead.
std::string TokenReader::remedy() const {
  if (!hint_.empty()) return "; " + hint_;
  const bool touches = last_.kind == TokenKind::kString && last_.text == "''" &&
                       now_.begin == last_.end() && now_.text.starts_with('\'');
  if (touches) return "; a block '''…''' has at least one character, and the first is no +";
  if (now_.kind == TokenKind::kWord || now_.kind == TokenKind::kReserved) {
    const std::string meant = did_you_mean(lower(now_.text), words_);
    if (!meant.empty()) return meant;
  }
  if (lexer_.unclosed() && *lexer_.unclosed() <= now_.begin)
    return fmt::format("; what begins at {} is not closed", place(*lexer_.unclosed()).text());
  return {};
}

void TokenReader::fail() {
  throw error_at(
      place(now_.begin), Code::kInvalidArgument,
      fmt::format("expected {}, found {}{}", alternatives(expected_), found(), remedy()));
}

void TokenReader::fail(std::string_view what) {
  add_once(expected_, std::string(what));
  if (hint_.empty() && is_foreign(now_) && what.find("name") != what.npos) hint_ = kForeign;
  const bool reserved = now_.kind == TokenKind::kReserved;
  if (hint_.empty() && reserved && what.find("name") != what.npos &&
      did_you_mean(lower(now_.text), words_).empty()) {
    hint_ = fmt::format("{0} is a reserved word, and names something only in backquotes: `{0}`",
                        shown(now_.text));
  }
  fail();
}

}  // namespace capstan::script
