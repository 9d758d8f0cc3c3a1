#pragma once

// Tables as files. The closed store writes below its own folder; from there whole files move to
// where the script wants them.

#include <string>
#include <vector>

#include "jobs/duck/core.h"
#include "jobs/duck/tables.h"
#include "jobs/script/engine.h"

namespace capstan::duck {

// One file per slice, in order and evenly cut, written at the same time. `paths` are where they
// end.
std::vector<int64_t> write_slices(Core& core, const Tables& tables, const std::string& stored,
                                  const std::string& options,
                                  const std::vector<std::string>& paths);

void save_table(Core& core, const Tables& tables, const std::string& stored,
                const script::SaveTo& to);

// A hidden folder in the same folder, for what is on its way to `path`.
jobs::ScratchFolder folder_beside(const std::string& path, jobs::FolderKeeper* keeper);

// A file or folder from our folder to its place, which is free: a rename, or, on another disk, a
// copy beside it and a rename.
void move_into_place(const std::string& from, const std::string& to, jobs::FolderKeeper* keeper);

}  // namespace capstan::duck
