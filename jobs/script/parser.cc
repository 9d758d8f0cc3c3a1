#include "jobs/script/parser.h"

#include <fmt/format.h>

#include "jobs/script/phrases.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

constexpr int kDeepestIf = 50;

class Parser : Phrases {
 public:
  Parser(std::shared_ptr<const Source> source, bool macro)
      : Phrases(std::move(source)), macro_(macro) {}

  std::vector<Statement> script() {
    std::vector<Statement> statements = block(0);
    if (in_.now().kind == TokenKind::kEnd) return statements;
    throw error_at(in_.place(in_.now().begin), Code::kInvalidArgument,
                   fmt::format("{} without !if", in_.now().text));
  }

 private:
  using Body = decltype(Statement::body);

  bool at_command(std::string_view name) const {
    return in_.now().kind == TokenKind::kCommand && same_word(in_.now().value(), name);
  }

  bool at_branch_end() const {
    return at_command("elif") || at_command("else") || at_command("then") || at_command("fi");
  }

  // Up to the end of the script, or the command that ends a branch.
  std::vector<Statement> block(int depth) {
    std::vector<Statement> out;
    while (in_.now().kind != TokenKind::kEnd && !at_branch_end()) {
      const size_t begin = in_.now().begin;
      Body body = at_command("if") ? Body(branches(depth + 1)) : statement();
      out.push_back({std::move(body), begin, in_.last_end()});
      semicolon();
    }
    return out;
  }

  // The last semicolon is required, but for the body of a macro.
  void semicolon() {
    if (macro_ && in_.now().kind == TokenKind::kEnd) return;
    in_.expect(';');
  }

  Body statement() {
    using Rule = Body (Parser::*)();
    static constexpr std::pair<std::string_view, Rule> kRules[] = {
        {"load", &Parser::load},       {"save", &Parser::save},
        {"select", &Parser::select},   {"insert", &Parser::raw_sql},
        {"create", &Parser::raw_sql},  {"drop", &Parser::raw_sql},
        {"refresh", &Parser::raw_sql}, {"set", &Parser::set},
        {"connect", &Parser::connect}, {"train", &Parser::train},
        {"run", &Parser::train},       {"predict", &Parser::train},
        {"register", &Parser::enroll}, {"unregister", &Parser::unregister},
        {"include", &Parser::include},
    };
    if (in_.now().kind == TokenKind::kCommand) return command();
    for (const auto& [word, rule] : kRules) {
      if (in_.sees(word)) return (this->*rule)();
    }
    if (in_.now().is(';')) in_.hint("an empty statement is none");
    if (in_.now().is('!')) in_.hint("no space stands between ! and the name of a command");
    in_.fail("!command");
  }

  // --- statements

  Body load() {
    in_.take();
    LoadStatement out;
    out.from = reference("the name of a format");
    out.options = options();
    in_.expect("as");
    out.table = in_.expect_name("the name of a table");
    return out;
  }

  bool save_mode(SaveMode& mode) {
    if (in_.accept("overwrite"))
      mode = SaveMode::kOverwrite;
    else if (in_.accept("append"))
      mode = SaveMode::kAppend;
    else if (in_.accept("ignore"))
      mode = SaveMode::kIgnore;
    else
      return false;
    return true;
  }

  Body save() {
    in_.take();
    SaveStatement out;
    while (save_mode(out.mode)) {
    }
    out.table = in_.expect_name("the name of a table");
    if (same_word(out.table.text, "errorIfExists"))
      in_.hint("errorIfExists is what holds without a mode: leave it out");
    in_.expect("as");
    out.to = reference("the name of a format");
    out.options = options();
    if (in_.accept("partitionby")) partition(out.partition_by);
    return out;
  }

  void partition(std::vector<Text>& columns) {
    if (in_.now().is_name()) columns.push_back(in_.expect_name("the name of a column"));
    while (in_.accept(',')) columns.push_back(in_.expect_name("the name of a column"));
  }

  // `select 1 as a;` makes a table a: the last `as name` is never a column's.
  Body select() {
    std::vector<Token> last;
    SelectStatement out;
    out.sql = rest(&last);
    if (last.size() < 2 || !last[0].is("as") || !last[1].is_name()) {
      const bool foreign = !last.empty() && is_foreign(last.back());
      in_.hint(foreign
                   ? "the name of its table stands in backquotes if it has other letters than a "
                     "to z: as `…`"
                   : "a select ends with the name of its table: select 1 as a as t;");
      in_.fail("as and the name of a table");
    }
    out.table = value_of(last[1]);
    out.sql.text.resize(last[0].begin - out.sql.at);
    return out;
  }

  Body raw_sql() {
    std::vector<Token> last;
    return RawSqlStatement{rest(&last)};
  }

  Text set_value() {
    const TokenKind kind = in_.now().kind;
    if (kind == TokenKind::kString || kind == TokenKind::kBlock) return value_of(in_.take());
    if (in_.now().is('-') || in_.now().is('+')) in_.hint("a signed number stands in quotes");
    return dotted_name("a value: a name, a number, or a text in quotes");
  }

  Body set() {
    in_.take();
    SetStatement out;
    out.name = dotted_name("the name of a variable");
    in_.expect('=');
    out.value = set_value();
    out.options = options();
    return out;
  }

  Body connect() {
    in_.take();
    ConnectStatement out;
    out.format = in_.expect_name("the name of a format");
    out.options = options();
    if (in_.accept("as")) out.name = dotted_name("the name of a connection");
    return out;
  }

  Body train() {
    const Token verb = in_.take();
    TrainStatement out;
    out.verb = verb.is("train") ? Verb::kTrain : verb.is("run") ? Verb::kRun : Verb::kPredict;
    out.table = in_.expect_name("the name of a table");
    if (!in_.accept("as") && !in_.accept("into")) in_.fail();
    out.with = reference("the name of an algorithm");
    out.options = options();
    while (in_.accept("as")) {
      out.result = in_.expect_name("the name of a table");
      if (in_.now().is("where")) in_.hint("where stands before as");
    }
    return out;
  }

  Body enroll() {
    in_.take();
    RegisterStatement out;
    out.model = reference("the name of an algorithm");
    if (in_.now().is("where")) in_.hint("the name stands before the options: as f where …");
    in_.expect("as");
    out.function = in_.expect_name("the name of a function");
    out.options = options();
    return out;
  }

  Body unregister() {
    in_.take();
    UnregisterStatement out;
    out.model = reference("the name of an algorithm");
    out.options = options();
    return out;
  }

  Body include() {
    in_.take();
    IncludeStatement out;
    out.script = reference("the name of a project");
    out.options = options();
    return out;
  }

  // --- commands

  Body command() {
    CommandStatement out;
    out.name = value_of(in_.take());
    for (;;) {
      const TokenKind kind = in_.now().kind;
      if (kind == TokenKind::kString || kind == TokenKind::kBlock) {
        out.arguments.push_back(value_of(in_.take()));
      } else if (at_raw_argument()) {
        out.arguments.push_back(raw_argument());
      } else {
        break;
      }
    }
    if (!in_.now().is(';') && in_.now().kind != TokenKind::kEnd)
      in_.hint("arguments with other characters, and reserved words, stand in quotes");
    return out;
  }

  // The condition of !if and !elif, and the !then that may follow.
  Text condition() {
    in_.take();
    Text out = in_.expect_text("a condition in quotes: ''' :x > 1 '''");
    in_.expect(';');
    if (at_command("then")) {
      in_.take();
      in_.expect(';');
    }
    return out;
  }

  IfStatement branches(int depth) {
    if (depth > kDeepestIf)
      throw error_at(in_.place(in_.now().begin), Code::kInvalidArgument,
                     fmt::format("!if is nested more than {} deep", kDeepestIf));
    const size_t begin = in_.now().begin;
    IfStatement out;
    do {
      Text wanted = condition();
      out.branches.push_back({std::move(wanted), block(depth)});
    } while (at_command("elif"));
    if (at_command("else")) {
      in_.take();
      in_.expect(';');
      out.branches.push_back({std::nullopt, block(depth)});
    }
    if (!at_command("fi")) {
      in_.hint(fmt::format("the !if stands at {}", in_.place(begin).text()));
      in_.fail("!fi");
    }
    in_.take();
    return out;
  }

  bool macro_;
};

}  // namespace

Error script_too_long(uint64_t bytes) {
  return invalid_argument("the script has {} bytes, and the longest that is read has {}", bytes,
                          kLongestScript);
}

Script parse(std::shared_ptr<const Source> source, bool macro) {
  if (source->text.size() > kLongestScript) {
    throw error_at({source, 0}, script_too_long(source->text.size()));
  }
  return {source, Parser(source, macro).script()};
}

}  // namespace capstan::script
