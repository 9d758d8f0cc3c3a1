#pragma once

// Cases as text: a script, and its result or its error. tests/script/cases/README.md has the form.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jobs/script/session.h"

namespace capstan::script {

struct ScriptCase {
  std::string file, name;
  struct Section {
    std::string kind, argument, text;
  };
  std::vector<Section> sections;
};

std::ostream& operator<<(std::ostream& out, const ScriptCase& script_case);

// All cases of tests/script/cases, in the order of their files.
std::vector<ScriptCase> all_cases();

// "select_one_as_a", for names of tests.
std::string test_name(const ScriptCase& script_case);

// Whether it holds for that engine: "fake", "duck".
bool is_for(const ScriptCase& script_case, std::string_view engine);

// Nothing if the case came out as it says; else what differs. `scratch`: an empty folder.
std::string run_case(const ScriptCase& script_case, Engine& engine, const std::string& scratch);

// Scripts only, without what they do.
std::vector<std::string> case_scripts();

}  // namespace capstan::script
