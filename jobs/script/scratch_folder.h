#pragma once

// A folder that does not outlive its maker: the destructor removes it, and what a process that was
// killed left is removed by whoever makes the next one beside it. A lock on the folder tells the
// two apart, in whatever process.

#include <string>
#include <string_view>

#include "base/fd.h"

namespace capstan::script {

class ScratchFolder {
 public:
  // Makes `<parent>/<prefix><id>`, and `parent` where it is missing.
  ScratchFolder(const std::string& parent, std::string_view prefix, const std::string& id);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  // It stays, or has another name by now.
  void release() { path_.clear(); }

 private:
  std::string path_;
  Fd lock_;
};

// Takes the lock that says that somebody is at work in a folder, and holds it while it is open.
// None: somebody else holds it. A file system without locks grants it.
Fd lock_folder(const std::string& path);

// This user's own, below the folder for temporary files. Throws PermissionDenied if somebody else
// was there first.
std::string temporary_parent();

}  // namespace capstan::script
