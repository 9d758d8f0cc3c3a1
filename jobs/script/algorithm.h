#pragma once

// What `train`, `run`, `predict` and `register` may name before the dot: DTF, TableRepartition, …
// One row each; the language, `!show et` and the checks of options are derived from the rows.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jobs/script/engine.h"
#include "jobs/script/options.h"

namespace capstan::script {

class Session;

// One `train t as Name.`path` where … as result`.
struct AlgorithmCall {
  Session& session;
  std::string table;   // the input; empty for register
  std::string path;    // as the script has it, templates replaced
  std::string result;  // the name of the table, or function, that comes of it
  Options options;
  Place place;
  std::string statement;  // its text, templates not replaced
};

struct Algorithm {
  std::string_view name;
  std::string_view doc;
  // Leaves a table call.result. A failure that has a table to show too throws after defining it.
  void (*train)(const AlgorithmCall& call) = nullptr;
  std::span<const OptionDef> train_options;
  void (*predict)(const AlgorithmCall& call) = nullptr;
  std::span<const OptionDef> predict_options;
  // Adds the function call.result, and leaves a table of the same name that explains the model.
  void (*enroll)(const AlgorithmCall& call) = nullptr;
  std::span<const OptionDef> enroll_options;
};

// By name, the case of its first letter aside. Throws NotFound with the nearest name.
const Algorithm& find_algorithm(std::string_view name, const Place& place);
std::span<const Algorithm* const> all_algorithms();

}  // namespace capstan::script
