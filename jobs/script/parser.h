#pragma once

// Text to statements: docs/formats/job-script.md has the grammar.

#include "jobs/script/ast.h"

namespace capstan::script {

// Longer scripts are refused.
constexpr size_t kLongestScript = 16 << 20;

Error script_too_long(uint64_t bytes);

// Throws InvalidArgument at the first place that cannot be: what was expected there, what was
// found, the nearest word. `macro`: the last statement needs no semicolon.
Script parse(std::shared_ptr<const Source> source, bool macro = false);

}  // namespace capstan::script
