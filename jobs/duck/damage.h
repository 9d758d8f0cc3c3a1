#pragma once

// Input that is damaged: which file, which line.

#include <string>
#include <vector>

#include "base/error.h"
#include "jobs/script/engine.h"

namespace capstan::duck {

struct Input {
  std::vector<std::string> files;
  std::string said;  // instead of the one file; empty: its own path. Bytes of a script have no file
};

// What DuckDB said of the files as DataLoss: "a.csv:7: reason".
[[noreturn]] void throw_damaged(const Error& error, const script::LoadFrom& from,
                                const Input& input);

// Throws DataLoss for the first row of JSON files that is no object.
void check_objects(const Input& input);

}  // namespace capstan::duck
