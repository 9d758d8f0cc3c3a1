#pragma once

// Files as tables.

#include <string>

#include "jobs/duck/core.h"
#include "jobs/duck/pull.h"
#include "jobs/script/engine.h"

namespace capstan::duck {

// `stored` becomes a table of what the files hold. They are read by a store that may touch these
// files and nothing else, and is gone afterwards. Throws DataLoss with file and line for input that
// is damaged.
void load_files(Core& core, Pull& pull, const script::LoadFrom& from, const std::string& stored);

}  // namespace capstan::duck
