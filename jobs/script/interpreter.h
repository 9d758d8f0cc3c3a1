#pragma once

// Runs scripts: statement by statement, up to the first that fails.

#include "jobs/script/place.h"
#include "jobs/script/session.h"

namespace capstan::script {

struct RunOptions {
  int64_t result_rows = 5000;  // so many of the last table are handed to the listener; -1: all
};

// What is wrong with the grammar of the script, or of any script that it includes by a name without
// templates, is thrown before the first statement runs. The last table is the script's result: the
// listener has it once all has run, or once the statement that made it has failed. Errors begin
// with the place of what failed.
void run_script(Session& session, Source script, const RunOptions& options = {});

}  // namespace capstan::script
