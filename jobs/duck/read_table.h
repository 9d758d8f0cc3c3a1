#pragma once

// A stored table, read a chunk at a time.

#include <memory>

#include "jobs/duck/core.h"
#include "jobs/duck/tables.h"
#include "jobs/script/engine.h"

namespace capstan::duck {

// The table stays until the reader is gone, whatever becomes of its name. `core` must outlive it.
std::unique_ptr<script::RowReader> read_table(Core& core, const Tables& tables,
                                              std::shared_ptr<const std::string> stored);

}  // namespace capstan::duck
