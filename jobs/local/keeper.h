#pragma once

// A watcher process that outlives its maker for a moment: if the launcher itself is killed, it
// kills what the job left behind (grandchildren that no parent-death signal reaches).

#include <functional>
#include <string>

#include "base/fd.h"

namespace capstan::jobs {

class Keeper {
 public:
  // `entry` (NAME=VALUE) marks the environment of every process of the job; `sweep` removes, in the
  // watcher, what else the job left.
  Keeper(const std::string& entry, const std::function<void()>& sweep);
  ~Keeper();  // the job ended in order: the watcher just leaves
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  int pid_ = -1;
  Fd line_;
};

}  // namespace capstan::jobs
