#include "jobs/script/dtf_predict.h"

#include <algorithm>
#include <array>
#include <climits>

#include "base/files.h"
#include "jobs/script/columns.h"
#include "jobs/script/model_function.h"
#include "jobs/script/model_store.h"
#include "jobs/script/session.h"

namespace capstan::script {
namespace {

constexpr std::array<OptionDef, 5> kOptions = {{
    {.key = "modelVersion",
     .type = OptionType::kInt,
     .doc = "which _model_N; the newest if it is not given",
     .least = 0},
    {.key = "signature", .doc = "of a SavedModel; serving_default if it is not given"},
    {.key = "inputs",
     .doc = "where the model's inputs come from: \"x=column, y=[a,b], keep_prob=1\"; an input that "
            "is not named takes the column of its name"},
    {.key = "outputs",
     .doc = "tensors to give out and the names of their columns: \"p:0=probability\"; needed where "
            "the model has no signature"},
    {.key = "features",
     .doc = "the columns that make up the rows of the model's only input: \"age,height\""},
}};

// The folder that the training program wrote: of a version, or the path itself where somebody else
// put a model there.
std::string model_folder(const AlgorithmCall& call, std::string& version) {
  const std::string path = call.session.paths.file(call.path, call.place);
  const bool asked = call.options.has("modelVersion");
  if (!asked && posix_files().exists(path) && model_versions(path).empty()) return path;
  const auto number =
      asked ? std::optional(int(std::min<int64_t>(call.options.integer("modelVersion"), INT_MAX)))
            : std::optional<int>();
  const ModelVersion found = newest_model(path, number);
  if (found.number) version = std::to_string(*found.number);
  return found.model();
}

ModelChoice chosen(const AlgorithmCall& call, std::string& version) {
  ModelChoice choice;
  choice.folder = model_folder(call, version);
  choice.signature = call.options.text("signature");
  choice.inputs = parse_bindings(call.options.text("inputs"));
  choice.outputs = parse_bindings(call.options.text("outputs"));
  if (call.options.has("features")) choice.features = parse_names(call.options.text("features"));
  return choice;
}

void tell_warning(const AlgorithmCall& call, const LoadedModel& model) {
  if (!model.warning().empty()) call.session.listener.note(model.warning());
}

void check_free(const std::vector<Column>& columns, const std::vector<FunctionValue>& results) {
  for (const FunctionValue& result : results) {
    if (!find_column(columns, result.name)) continue;
    throw invalid_argument(
        "the table has a column '{}' already; name the answer otherwise, as "
        "outputs=\"tensor=name\"",
        result.name);
  }
}

std::string call_text(const std::string& function, const ModelFunction& model) {
  std::string arguments;
  for (const std::string& column : model.argument_columns())
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", quoted_name(column));
  return fmt::format("{}({})", function, arguments);
}

// All columns, then the answers; several of them come as one value with fields.
std::string prediction_sql(const std::string& table, const std::vector<Column>& columns,
                           const std::string& function, const ModelFunction& model) {
  const auto& results = model.results();
  const std::string answer = call_text(function, model);
  if (results.size() == 1) {
    return fmt::format("select *, {} as {} from {}", answer, quoted_name(results[0].name),
                       quoted_name(table));
  }
  std::string listed;
  for (const Column& column : columns) listed += quoted_name(column.name) + ", ";
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string name = quoted_name(results[i].name);
    listed += fmt::format("{}capstan_answer.{} as {}", i ? ", " : "", name, name);
  }
  return fmt::format("select {} from (select *, {} as capstan_answer from {}) as answered", listed,
                     answer, quoted_name(table));
}

// --- The table that explains a model -------------------------------------------------------------

class Explanation {
 public:
  Explanation() {
    for (const char* name : {"part", "name", "type", "shape", "tensor"})
      rows_.columns.push_back({name, "VARCHAR"});
  }

  void add(std::string part, std::string name, std::string type = "", std::string shape = "",
           std::string tensor = "") {
    rows_.rows.push_back(
        {std::move(part), std::move(name), std::move(type), std::move(shape), std::move(tensor)});
    rows_.total = int64_t(rows_.rows.size());
  }

  void add_value(const char* part, const FunctionValue& value, const std::string& tensor) {
    add(part, value.name, std::string(dtype_name(value.dtype)),
        value.width ? fmt::format("list of {}", value.width) : "number", tensor);
  }

  const Rows& rows() const { return rows_; }

 private:
  Rows rows_;
};

Rows explanation(const ModelFunction& model, const Function& function, const std::string& version) {
  Explanation table;
  table.add("model", model.model().title());
  if (!version.empty()) table.add("version", version);
  if (!model.model().signature().empty()) table.add("signature", model.model().signature());
  size_t next = 0;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    for (size_t c = 0; c < model.inputs()[i].columns.size(); ++c)
      table.add_value("argument", function.arguments[next++], model.model().inputs()[i].tensor);
  }
  for (size_t i = 0; i < function.results.size(); ++i)
    table.add_value("result", function.results[i], model.model().outputs()[i].tensor);
  for (const std::string& variable : model.model().variables()) table.add("variable", variable);
  return table.rows();
}

}  // namespace

void dtf_predict(const AlgorithmCall& call) {
  Engine& engine = call.session.engine;
  std::string version;
  const std::vector<Column> columns = engine.columns(call.table);
  const ModelFunction model(chosen(call, version), &columns, [&](const std::string& column) {
    return list_width(engine, call.table, column);
  });
  tell_warning(call, model.model());
  check_free(columns, model.results());
  const std::string function =
      fmt::format("{}predict_{}", kOwnFunctionPrefix, call.session.fresh_name());
  engine.add_function(model.function(function));
  engine.select(prediction_sql(call.table, columns, function, model), call.result);
}

void dtf_enroll(const AlgorithmCall& call) {
  std::string version;
  const ModelFunction model(chosen(call, version), nullptr);
  tell_warning(call, model.model());
  Function function = model.function(call.result);
  const Rows explained = explanation(model, function, version);
  call.session.engine.add_function(std::move(function));
  call.session.engine.define(call.result, explained);
}

std::span<const OptionDef> dtf_predict_options() { return kOptions; }
std::span<const OptionDef> dtf_enroll_options() { return kOptions; }

}  // namespace capstan::script
