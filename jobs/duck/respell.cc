#include <fmt/format.h>

#include <algorithm>

#include "jobs/duck/connection.h"
#include "jobs/duck/date_pattern.h"
#include "jobs/duck/spark_sql.h"
#include "jobs/script/sql_error.h"

namespace capstan::duck {
namespace {

using Kind = Token::Kind;
using script::SqlError;
using Tokens = std::vector<Token>;

bool is(const Tokens& tokens, size_t i, std::string_view text) {
  return i < tokens.size() && tokens[i].text == text &&
         (tokens[i].kind == Kind::kWord || tokens[i].kind == Kind::kSign);
}

bool is_text(const Tokens& tokens, size_t i) {
  return i < tokens.size() && tokens[i].kind == Kind::kText;
}

bool is_name(const Tokens& tokens, size_t i) {
  return i < tokens.size() && (tokens[i].kind == Kind::kWord || tokens[i].kind == Kind::kName);
}

[[noreturn]] void fail(const Token& token, std::string message) {
  throw SqlError(Code::kInvalidArgument, std::move(message), token.offset);
}

void spell(Token& token, std::string_view text) { token.spelled = std::string(text); }

// The parenthesis that closes the one at `open`; the end of the tokens if none does.
size_t closing(const Tokens& tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    depth += is(tokens, i, "(") - is(tokens, i, ")");
    if (depth == 0) return i;
  }
  return tokens.size();
}

// DuckDB's ~ matches a whole text, rlike some part of it.
void respell_rlike(Tokens& tokens, size_t i) {
  if (!is(tokens, i, "rlike") && !is(tokens, i, "regexp")) return;
  if (is(tokens, i + 1, "(")) {
    spell(tokens[i], "regexp_matches");
    return;
  }
  if (i == 0 || is(tokens, i - 1, ".") || is(tokens, i - 1, "as")) return;
  if (!is_text(tokens, i + 1)) {
    if (is(tokens, i, "rlike")) fail(tokens[i], "rlike takes a text; else regexp_like(a, b)");
    return;
  }
  bool negated = is(tokens, i - 1, "not");
  if (negated) spell(tokens[i - 1], "");
  spell(tokens[i], negated ? "!~" : "~");
  tokens[i + 1].spelled = sql_text("(?s).*(?:" + tokens[i + 1].text + ").*");
}

void respell_equal(Tokens& tokens, size_t i) {
  if (!is(tokens, i, "<") || !is(tokens, i + 1, "=") || !is(tokens, i + 2, ">")) return;
  if (tokens[i].end != tokens[i + 1].offset || tokens[i + 1].end != tokens[i + 2].offset) return;
  spell(tokens[i], " IS NOT DISTINCT FROM ");
  spell(tokens[i + 1], "");
  spell(tokens[i + 2], "");
}

void respell_makers(Tokens& tokens, size_t i) {
  if (!is(tokens, i + 1, "(") || is(tokens, i + 2, "select")) return;
  if (is(tokens, i, "array")) spell(tokens[i], "list_value");
  if (is(tokens, i, "struct")) spell(tokens[i], "row");
}

// from t lateral view explode(v) x as e: from t, unnest(v) as x(e).
void respell_lateral_view(Tokens& tokens, size_t i) {
  if (!is(tokens, i, "lateral") || !is(tokens, i + 1, "view")) return;
  if (!is(tokens, i + 2, "explode") || !is(tokens, i + 3, "(")) {
    fail(tokens[i], "lateral view is known with explode(…) only");
  }
  size_t table = closing(tokens, i + 3) + 1;
  bool has_as = is(tokens, table + 1, "as");
  size_t column = table + (has_as ? 2 : 1);
  if (!is_name(tokens, table) || !is_name(tokens, column)) {
    fail(tokens[i], "lateral view explode(…) needs a table and a column: x as e");
  }
  spell(tokens[i], ",");
  spell(tokens[i + 1], "");
  spell(tokens[i + 2], "unnest");
  tokens[table].spelled.insert(0, "AS ");
  if (has_as) spell(tokens[table + 1], "");
  spell(tokens[column], fmt::format("({})", tokens[column].spelled));
}

// The first element is number 1 here, and number 0 in Spark: what asks for number 0 was written for
// there, and would silently be null.
void check_subscript(const Tokens& tokens, size_t i) {
  if (i == 0 || !is(tokens, i, "[") || !is(tokens, i + 2, "]")) return;
  const bool zero = tokens[i + 1].kind == Kind::kNumber && tokens[i + 1].text == "0";
  const bool behind = tokens[i - 1].end == tokens[i].offset &&
                      (is_name(tokens, i - 1) || is(tokens, i - 1, ")") || is(tokens, i - 1, "]"));
  if (!zero || !behind) return;
  fail(tokens[i],
       "elements are counted from 1 in this SQL: the first is [1]; of a map, element_at(m, 0)");
}

constexpr std::string_view kDated[] = {"date_format", "to_date", "to_timestamp", "unix_timestamp",
                                       "from_unixtime"};

void respell_date_pattern(Tokens& tokens, size_t i) {
  bool dated = std::find(std::begin(kDated), std::end(kDated), tokens[i].text) != std::end(kDated);
  if (!dated || !is(tokens, i, tokens[i].text) || !is(tokens, i + 1, "(")) return;
  size_t pattern = closing(tokens, i + 1) - 1;
  if (!is_text(tokens, pattern) || !is(tokens, pattern - 1, ",")) return;
  try {
    tokens[pattern].spelled = sql_text(date_pattern(tokens[pattern].text));
  } catch (const Error& error) {
    fail(tokens[pattern], error.message());
  }
}

}  // namespace

void respell(Tokens& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    respell_rlike(tokens, i);
    respell_equal(tokens, i);
    respell_makers(tokens, i);
    check_subscript(tokens, i);
    respell_lateral_view(tokens, i);
    respell_date_pattern(tokens, i);
  }
}

}  // namespace capstan::duck
