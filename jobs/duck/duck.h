#pragma once

// The engine of job scripts that runs in this process: DuckDB, in memory, with its spill and its
// files on their way in a folder of its own.

#include <cstdint>
#include <memory>
#include <string>

#include "jobs/scratch_folder.h"
#include "jobs/script/engine.h"

namespace capstan::duck {

struct EngineOptions {
  std::string library;       // libduckdb.so; empty: looked for beside this program
  std::string temp_folder;   // where the engine makes its own folder; empty: the user's own
  int threads = 0;           // 0: all cores
  int64_t memory_limit = 0;  // bytes before it spills; 0: half of the machine's
  jobs::FolderKeeper* keeper = nullptr;  // of its folders, if the process is killed
};

// Throws FailedPrecondition where DuckDB's library is missing or of another version.
std::unique_ptr<script::Engine> duck_engine(const EngineOptions& options = {});

// Why duck_engine would not work here; empty if it would. Loads nothing.
std::string missing_library(const EngineOptions& options = {});

}  // namespace capstan::duck
