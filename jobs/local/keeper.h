#pragma once

// A watcher process that outlives its maker for a moment: if the launcher itself is killed, it
// kills what the job left behind (grandchildren that no parent-death signal reaches), and removes
// the folders that it was told of.

#include <functional>
#include <mutex>
#include <string>

#include "base/fd.h"
#include "jobs/scratch_folder.h"

namespace capstan::jobs {

// Thread-safe.
class Keeper : public FolderKeeper {
 public:
  // `entry` (NAME=VALUE) marks the environment of every process of the job; `sweep` removes, in the
  // watcher, what else the job left, before the folders go.
  Keeper(const std::string& entry, const std::function<void()>& sweep);
  ~Keeper() override;  // the job ended in order: the watcher just leaves
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void keep(const std::string& folder) override { tell('+', folder); }
  void forget(const std::string& folder) override { tell('-', folder); }

 private:
  bool tell(char what, const std::string& folder);

  int pid_ = -1;
  std::mutex mutex_;
  Fd line_;
};

}  // namespace capstan::jobs
