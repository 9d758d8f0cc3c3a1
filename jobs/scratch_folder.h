#pragma once

// A folder that does not outlive its maker: the destructor removes it, a keeper does if the process
// is killed, and what is left even so goes when the next one is made beside it. A lock on the
// folder tells the living from the dead, in whatever process.

#include <string>
#include <string_view>

#include "base/fd.h"

namespace capstan::jobs {

// Outlives this process for a moment, and removes its folders if it was killed.
class FolderKeeper {
 public:
  virtual ~FolderKeeper() = default;
  virtual void keep(const std::string& folder) = 0;
  virtual void forget(const std::string& folder) = 0;
};

class ScratchFolder {
 public:
  // Makes `<parent>/<prefix><id>`, and `parent` where it is missing. `keeper` may be none.
  ScratchFolder(const std::string& parent, std::string_view prefix, const std::string& id,
                FolderKeeper* keeper);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  // It stays, or has another name by now.
  void release();

 private:
  std::string path_;
  FolderKeeper* const keeper_;
  Fd lock_;
};

// Takes the lock that says that somebody is at work in a folder, and holds it while it is open.
// None: somebody else holds it. A file system without locks grants it.
Fd lock_folder(const std::string& path);

// This user's own, below the folder for temporary files. Throws PermissionDenied if somebody else
// was there first.
std::string temporary_parent();

}  // namespace capstan::jobs
