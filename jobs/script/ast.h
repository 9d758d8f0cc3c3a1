#pragma once

// A script after parsing: templates and macros are still as written.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "jobs/script/engine.h"
#include "jobs/script/place.h"

namespace capstan::script {

// A piece of the script without its quotes, and the offset of its first character: after the quote.
struct Text {
  std::string text;
  size_t at = 0;
};

struct GivenOption {
  Text key, value;
};
using GivenOptions = std::vector<GivenOption>;

// ``format.`path` ``
struct Reference {
  Text format, path;
};

struct LoadStatement {
  Reference from;
  GivenOptions options;
  Text table;
};

struct SaveStatement {
  SaveMode mode = SaveMode::kErrorIfExists;
  Text table;
  Reference to;
  GivenOptions options;
  std::vector<Text> partition_by;
};

struct SelectStatement {
  Text sql;  // without the last `as name`
  Text table;
};

struct RawSqlStatement {
  Text sql;
};

struct SetStatement {
  Text name, value;
  GivenOptions options;
};

struct ConnectStatement {
  Text format;
  GivenOptions options;
  std::optional<Text> name;
};

enum class Verb { kTrain, kRun, kPredict };

struct TrainStatement {
  Verb verb = Verb::kTrain;
  Text table;
  Reference with;
  GivenOptions options;
  std::optional<Text> result;
};

struct RegisterStatement {
  Reference model;
  Text function;
  GivenOptions options;
};

struct UnregisterStatement {
  Reference model;
  GivenOptions options;
};

struct IncludeStatement {
  Reference script;
  GivenOptions options;
};

struct CommandStatement {
  Text name;
  std::vector<Text> arguments;
};

struct Statement;

// `!if … !elif … !else … !fi`. The last branch has no condition if it is `!else`.
struct IfStatement {
  struct Branch {
    std::optional<Text> condition;
    std::vector<Statement> body;
  };
  std::vector<Branch> branches;
};

struct Statement {
  std::variant<LoadStatement, SaveStatement, SelectStatement, RawSqlStatement, SetStatement,
               ConnectStatement, TrainStatement, RegisterStatement, UnregisterStatement,
               IncludeStatement, CommandStatement, IfStatement>
      body;
  size_t begin = 0, end = 0;  // without the semicolon
};

struct Script {
  std::shared_ptr<const Source> source;
  std::vector<Statement> statements;

  Place place(size_t offset) const { return {source, offset}; }
  std::string_view text(const Statement& statement) const {
    return std::string_view(source->text).substr(statement.begin, statement.end - statement.begin);
  }
};

}  // namespace capstan::script
