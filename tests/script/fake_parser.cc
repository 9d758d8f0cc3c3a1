#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "jobs/script/sql_error.h"
#include "jobs/script/words.h"
#include "script/fake_query.h"

namespace capstan::script {
namespace {

struct SqlToken {
  enum Kind { kEnd, kName, kNumber, kText, kSign } kind = kEnd;
  std::string text;
  size_t at = 0;
  bool quoted = false;
};

SqlError bad(const SqlToken& token, std::string_view what) {
  return SqlError(Code::kInvalidArgument,
                  token.kind == SqlToken::kEnd ? fmt::format("{} at the end of the query", what)
                                               : fmt::format("{} at {}", what, token.text),
                  token.at);
}

class SqlLexer {
 public:
  explicit SqlLexer(std::string_view text) : text_(text) {}

  SqlToken next() {
    skip();
    SqlToken token;
    token.at = at_;
    if (at_ >= text_.size()) return token;
    const char c = text_[at_];
    if (c == '\'' || c == '"' || c == '`') return quoted(token, c);
    size_t end = at_;
    while (end < text_.size() && is_word_char(text_[end])) ++end;
    const bool number = c >= '0' && c <= '9';
    if (number && end < text_.size() && text_[end] == '.') {
      ++end;
      while (end < text_.size() && is_word_char(text_[end])) ++end;
    }
    token.kind = number ? SqlToken::kNumber : end > at_ ? SqlToken::kName : SqlToken::kSign;
    if (end == at_) end += sign_length();
    token.text = text_.substr(at_, end - at_);
    at_ = end;
    return token;
  }

 private:
  void skip() {
    for (;;) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      const std::string_view rest = text_.substr(std::min(at_, text_.size()));
      if (rest.starts_with("--"))
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (rest.starts_with("/*"))
        at_ = std::min(text_.find("*/", at_), text_.size() - 2) + 2;
      else
        return;
    }
  }

  size_t sign_length() const {
    for (std::string_view sign : {"==", "!=", "<>", "<=", ">=", "||"}) {
      if (text_.substr(at_).starts_with(sign)) return 2;
    }
    return 1;
  }

  SqlToken quoted(SqlToken token, char quote) {
    token.kind = quote == '\'' ? SqlToken::kText : SqlToken::kName;
    token.quoted = true;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote && (at_ + 1 >= text_.size() || text_[at_ + 1] != quote)) {
        ++at_;
        return token;
      }
      if (text_[at_] == quote) ++at_;
      token.text += text_[at_];
    }
    throw SqlError(Code::kInvalidArgument, "a quote is not closed", token.at);
  }

  std::string_view text_;
  size_t at_ = 0;
};

bool is_keyword(std::string_view word) {
  for (std::string_view keyword : {"select", "from", "where", "as", "group", "order", "union"}) {
    if (same_word(keyword, word)) return true;
  }
  return false;
}

class SqlParser {
 public:
  explicit SqlParser(std::string_view sql) : lexer_(sql), sql_(sql) { now_ = lexer_.next(); }

  Query parse() {
    Query query = select();
    if (now_.kind != SqlToken::kEnd) throw bad(now_, "syntax error");
    return query;
  }

 private:
  bool at(std::string_view word) const {
    return (now_.kind == SqlToken::kName || now_.kind == SqlToken::kSign) && !now_.quoted &&
           same_word(now_.text, word);
  }
  SqlToken take() { return std::exchange(now_, lexer_.next()); }
  bool accept(std::string_view word) { return at(word) && (take(), true); }
  void expect(std::string_view word) {
    if (!accept(word)) throw bad(now_, fmt::format("expected {}", word));
  }
  std::string name() {
    if (now_.kind != SqlToken::kName) throw bad(now_, "expected a name");
    return take().text;
  }

  Query select() {
    Query query;
    query_ = &query;
    expect("select");
    do query.items.push_back(item());
    while (accept(","));
    if (accept("from")) {
      query.table_at = now_.at;
      query.table = name();
    }
    if (accept("where")) query.where = either();
    if (accept("group")) {
      expect("by");
      query.aggregate = true;
      do query.groups.push_back(either());
      while (accept(","));
    }
    if (accept("order")) order(query);
    if (accept("limit")) query.limit = size_t(std::strtoul(take().text.c_str(), nullptr, 10));
    if (accept("union")) {
      expect("all");
      query.unioned = std::make_unique<Query>(select());
    }
    return query;
  }

  void order(Query& query) {
    expect("by");
    do {
      query.order.push_back(either());
      query.descending.push_back(accept("desc"));
      if (!query.descending.back()) accept("asc");
    } while (accept(","));
  }

  Item item() {
    if (accept("*")) return {{}, {}, true};
    const size_t begin = now_.at;
    Item out{either(), {}, false};
    out.name = std::string(trimmed(sql_.substr(begin, now_.at - begin)));
    if (accept("as")) out.name = name();
    return out;
  }

  Value either() {
    Value left = both();
    while (accept("or")) {
      left = [left, right = both()](const Scope& s) {
        return Cell(is_true(left(s)) || is_true(right(s)));
      };
    }
    return left;
  }

  Value both() {
    Value left = comparison();
    while (accept("and")) {
      left = [left, right = comparison()](const Scope& s) {
        return Cell(is_true(left(s)) && is_true(right(s)));
      };
    }
    return left;
  }

  Value comparison() {
    if (accept("not")) {
      return [value = comparison()](const Scope& s) { return Cell(!is_true(value(s))); };
    }
    Value left = sum();
    for (std::string_view sign : {"=", "==", "!=", "<>", "<", ">", "<=", ">="}) {
      if (!accept(sign)) continue;
      return [sign = std::string(sign), left, right = sum()](const Scope& s) {
        return compare(sign, left(s), right(s));
      };
    }
    return left;
  }

  Value sum() {
    Value left = product();
    while (at("+") || at("-") || at("||")) {
      const std::string sign = take().text;
      left = [sign, left, right = product()](const Scope& s) {
        if (sign == "||") return Cell(cell_text(left(s)) + cell_text(right(s)));
        return calculated(sign[0], left(s), right(s));
      };
    }
    return left;
  }

  Value product() {
    Value left = primary();
    while (at("*") || at("/")) {
      const char sign = take().text[0];
      left = [sign, left, right = primary()](const Scope& s) {
        return calculated(sign, left(s), right(s));
      };
    }
    return left;
  }

  Value constant(Cell cell) {
    return [cell = std::move(cell)](const Scope&) { return cell; };
  }

  Value primary() {
    if (++depth_ > 200) throw bad(now_, "nested too deep");
    const SqlToken token = take();
    Value out;
    if (token.kind == SqlToken::kText)
      out = constant(token.text);
    else if (token.kind == SqlToken::kNumber)
      out = number_of(token);
    else if (token.kind == SqlToken::kSign && token.text == "-") {
      out = [value = primary()](const Scope& s) { return calculated('-', int64_t(0), value(s)); };
    } else if (token.kind == SqlToken::kSign && token.text == "(") {
      out = either();
      expect(")");
    } else if (token.kind == SqlToken::kName) {
      out = named(token);
    } else {
      throw bad(token, "syntax error");
    }
    --depth_;
    return out;
  }

  Value number_of(const SqlToken& token) {
    const std::string& text = token.text;
    int64_t whole = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (error == std::errc() && end == text.data() + text.size()) return constant(whole);
    double value = 0;
    auto [end2, error2] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error2 != std::errc() || end2 != text.data() + text.size()) throw bad(token, "no number");
    return constant(value);
  }

  Value named(const SqlToken& token) {
    if (!token.quoted && accept("(")) return call(token);
    if (same_word(token.text, "null")) return constant({});
    if (same_word(token.text, "true")) return constant(true);
    if (same_word(token.text, "false")) return constant(false);
    if (!token.quoted && is_keyword(token.text)) throw bad(token, "syntax error");
    return [token](const Scope& scope) -> Cell {
      const auto& columns = scope.table->columns;
      for (size_t i = 0; i < columns.size(); ++i) {
        if (!same_word(columns[i].name, token.text)) continue;
        return scope.rows.empty() ? Cell() : scope.table->rows[scope.rows[0]][i];
      }
      throw SqlError(Code::kInvalidArgument, fmt::format("there is no column {}", token.text),
                     token.at);
    };
  }

  Value call(const SqlToken& token) {
    const std::string function = lower(token.text);
    if (function == "count" && accept("*")) {
      expect(")");
      query_->aggregate = true;
      return [](const Scope& s) { return Cell(int64_t(s.rows.size())); };
    }
    Value argument = either();
    expect(")");
    if (function == "upper") {
      return [argument](const Scope& s) {
        std::string text = cell_text(argument(s));
        std::ranges::transform(text, text.begin(),
                               [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
        return Cell(text);
      };
    }
    if (function != "count" && function != "sum" && function != "min" && function != "max")
      throw bad(token, "unknown function");
    query_->aggregate = true;
    return [function, argument](const Scope& s) { return aggregated(function, argument, s); };
  }

  static Cell aggregated(const std::string& function, const Value& argument, const Scope& scope) {
    Cell out = function == "count" ? Cell(int64_t(0)) : Cell();
    for (size_t row : scope.rows) {
      const Cell cell = argument({scope.table, {row}});
      if (std::holds_alternative<std::monostate>(cell)) continue;
      const bool first = std::holds_alternative<std::monostate>(out);
      if (function == "count")
        out = calculated('+', out, int64_t(1));
      else if (first)
        out = cell;
      else if (function == "sum")
        out = calculated('+', out, cell);
      else if ((compared(cell, out) < 0) == (function == "min"))
        out = cell;
    }
    return out;
  }

  SqlLexer lexer_;
  std::string_view sql_;
  SqlToken now_;
  Query* query_ = nullptr;
  int depth_ = 0;
};

}  // namespace

Query parse_query(std::string_view sql) { return SqlParser(sql).parse(); }

}  // namespace capstan::script
