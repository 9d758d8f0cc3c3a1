// `!if ''' :n > 10 and :city == "x" ''';`. Values of `:name` are those of variables, or of selects
// that stand before the expression: `select count(*) from t as :n; :n > 10`.

#include <fmt/format.h>

#include "base/nearest.h"
#include "jobs/script/lexer.h"
#include "jobs/script/run.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

std::string in_quotes(std::string_view text, std::string_view doubled) {
  std::string out = "'";
  for (char c : text) out.append(doubled.find(c) == doubled.npos ? 1 : 2, c);
  return out + "'";
}

// A text as it is: no sign of it means anything.
std::string text_literal(std::string_view text) { return in_quotes(text, "'\\"); }

std::string literal(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "null";
  const auto* text = std::get_if<std::string>(&cell);
  return text ? text_literal(*text) : cell_text(cell);
}

class Condition {
 public:
  Condition(const Here& here, const Text& text) : here_(here), text_(text), lexer_(text.text) {}

  bool holds() {
    std::string part;
    while (read_part(part)) run_select();
    if (trimmed(part).empty()) throw error("the condition is empty");
    const Rows rows = here_.session.engine.query(fmt::format("select ({}) as holds", part), 1);
    return truth(rows);
  }

 private:
  Error error(std::string_view message) const {
    return error_at(here_.place(text_), Code::kInvalidArgument, message);
  }

  // One part with its values put in; true if a semicolon ended it. `as :n` at its end is kept
  // apart.
  bool read_part(std::string& sql) {
    sql.clear();
    select_.clear();
    target_.clear();
    size_t done = part_begin_;
    bool after_as = false;
    for (Token token = lexer_.next();; token = lexer_.next()) {
      const bool ends = token.kind == TokenKind::kEnd;
      sql += text_.text.substr(done, token.begin - done);
      done = token.end();
      if (ends || token.is(';')) {
        part_begin_ = done;
        select_ = sql;
        return !ends;
      }
      if (is_variable(token)) {
        const Token name = lexer_.next();
        done = name.end();
        if (after_as)
          target_ = name.text;
        else
          sql += value(std::string(name.text), name.begin);
      } else {
        sql += as_sql(token);
      }
      if (token.is("as")) before_as_ = sql.size() - token.text.size();
      after_as = token.is("as");
    }
  }

  // A colon before a name; `a::int` and `a:b` are SQL's.
  bool is_variable(const Token& token) const {
    if (!token.is(':')) return false;
    const std::string& text = text_.text;
    const bool alone = token.begin == 0 || text[token.begin - 1] != ':';
    return alone && token.end() < text.size() && is_word_char(text[token.end()]);
  }

  // The original's SQL takes "x" for a text.
  static std::string as_sql(const Token& token) {
    const bool text = token.kind == TokenKind::kString && token.text[0] == '"';
    return text ? in_quotes(token.value(), "'") : std::string(token.text);
  }

  std::string value(const std::string& name, size_t offset) const {
    auto found = values_.find(name);
    if (found != values_.end()) return literal(found->second);
    const Templates templates = here_.run.templates();
    if (templates.find(name)) return text_literal(*templates.value(name));
    std::vector<std::string> names;
    for (const auto& [known, unused] : values_) names.push_back(known);
    for (const auto& [known, unused] : here_.run.variables) names.push_back(known);
    throw error_at(
        here_.script.place(text_.at + offset), Code::kNotFound,
        fmt::format("there is no variable {}{}", shown(name), did_you_mean(name, names)));
  }

  void run_select() {
    if (target_.empty() || !lower(trimmed(select_)).starts_with("select"))
      throw error("what stands before the expression is: select … as :name;");
    const Rows rows = here_.session.engine.query(select_.substr(0, before_as_), 1);
    const bool any = !rows.rows.empty() && !rows.rows[0].empty();
    values_[target_] = any ? rows.rows[0][0] : Cell();
  }

  bool truth(const Rows& rows) const {
    if (rows.rows.empty() || rows.rows[0].empty()) return false;
    const Cell& cell = rows.rows[0][0];
    if (const bool* value = std::get_if<bool>(&cell)) return *value;
    if (const int64_t* value = std::get_if<int64_t>(&cell)) return *value != 0;
    if (std::holds_alternative<std::monostate>(cell)) return false;
    throw error(
        fmt::format("the condition gives {}, and must give true or false", shown(cell_text(cell))));
  }

  const Here& here_;
  const Text& text_;
  Lexer lexer_;
  size_t part_begin_ = 0;
  std::string select_, target_;
  size_t before_as_ = 0;
  std::map<std::string, Cell> values_;
};

}  // namespace

bool holds(const Here& here, const Text& condition) {
  const Text rendered{here.text(condition), condition.at};
  try {
    return Condition(here, rendered).holds();
  } catch (const Error& error) {
    throw tells_place(error, here.place()) ? error : error_at(here.place(condition), error);
  }
}

void execute(const Here& here, const IfStatement& statement) {
  for (const IfStatement::Branch& branch : statement.branches) {
    if (branch.condition && !holds(here, *branch.condition)) continue;
    here.run.statements(here.script, branch.body);
    return;
  }
}

}  // namespace capstan::script
