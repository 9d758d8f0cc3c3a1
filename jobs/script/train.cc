// Statements that hand over to an algorithm, and those beside them.

#include <fmt/format.h>

#include "jobs/script/algorithm.h"
#include "jobs/script/run.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

using Part = void (*)(const AlgorithmCall& call);

std::string what_it_has(const Algorithm& algorithm) {
  std::vector<std::string_view> has;
  if (algorithm.train) has.push_back("train or run");
  if (algorithm.predict) has.push_back("predict");
  if (algorithm.enroll) has.push_back("register");
  return fmt::format("{}", fmt::join(has, ", "));
}

Part need(Part part, const Algorithm& algorithm, std::string_view verb, const Place& place) {
  if (part) return part;
  throw error_at(
      place, Code::kUnimplemented,
      fmt::format("{} has no {}; it has {}", algorithm.name, verb, what_it_has(algorithm)));
}

AlgorithmCall make_call(const Here& here, const Reference& with, Options options) {
  return {here.session,
          {},
          here.text(with.path),
          {},
          std::move(options),
          here.place(),
          std::string(here.script.text(here.statement))};
}

// `command` is the table of those who need none.
std::string input_table(const Here& here, const Text& table) {
  const bool none = table.text == "command" && !here.has_table("command");
  return none ? std::string() : here.table(table);
}

// A table of the same name that was there before would be taken for what this statement left.
void make_room(const Here& here, const AlgorithmCall& call) {
  if (!same_word(call.result, call.table) && here.has_table(call.result))
    here.session.engine.drop(call.result);
}

// A failed training has a table too: which task failed. What goes wrong here does not hide that.
void report_failed(const Here& here, const AlgorithmCall& call) try {
  if (same_word(call.result, call.table) || !here.has_table(call.result)) return;
  here.session.last_table = call.result;
  here.run.report();
} catch (const Error& error) {
  here.session.listener.note(error.message());
}

void call_algorithm(const Here& here, Part part, const AlgorithmCall& call) {
  make_room(here, call);
  try {
    part(call);
  } catch (...) {
    const Error error = current_error();
    report_failed(here, call);
    throw Error(error);
  }
  here.session.last_table = call.result;
}

}  // namespace

void execute(const Here& here, const TrainStatement& statement) {
  const Place at = here.place(statement.with.format);
  const Algorithm& algorithm = find_algorithm(here.text(statement.with.format), at);
  const bool predicts = statement.verb == Verb::kPredict;
  const Part part = need(predicts ? algorithm.predict : algorithm.train, algorithm,
                         predicts ? "predict" : "train", at);
  const auto known = predicts ? algorithm.predict_options : algorithm.train_options;
  AlgorithmCall call = make_call(here, statement.with, here.options(statement.options, known));
  call.table = input_table(here, statement.table);
  call.result = statement.result ? here.name(*statement.result) : here.session.fresh_name();
  call_algorithm(here, part, call);
}

void execute(const Here& here, const RegisterStatement& statement) {
  const Place at = here.place(statement.model.format);
  const Algorithm& algorithm = find_algorithm(here.text(statement.model.format), at);
  const Part part = need(algorithm.enroll, algorithm, "register", at);
  AlgorithmCall call =
      make_call(here, statement.model, here.options(statement.options, algorithm.enroll_options));
  call.result = here.name(statement.function);
  call_algorithm(here, part, call);
}

void execute(const Here& here, const UnregisterStatement&) {
  throw error_at(here.place(), Code::kUnimplemented,
                 "unregister does nothing in the original, and is not needed here: a function ends "
                 "with its script");
}

void execute(const Here& here, const ConnectStatement& statement) {
  KeyValues options;
  for (const GivenOption& option : statement.options)
    options.emplace_back(option.key.text, here.text(option.value));
  const std::string name = statement.name ? here.name(*statement.name) : std::string();
  here.session.connections[here.name(statement.format) + "." + name] = std::move(options);
}

}  // namespace capstan::script
