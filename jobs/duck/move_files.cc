#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/fd.h"
#include "jobs/duck/write_files.h"
#include "jobs/random_hex.h"

namespace capstan::duck {
namespace {

namespace fs = std::filesystem;

void sync_below(const fs::path& path) {
  if (fs::is_directory(path)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) sync_below(entry.path());
  }
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd) fsync(fd.get());
}

Error not_moved(const std::string& to, const char* reason) {
  return unavailable("cannot write {}: {}", to, reason);
}

// What a copy says of a full disk is "Input/output error".
Error not_copied(const std::string& to, const std::error_code& error) {
  std::error_code unknown;
  const bool full = fs::space(fs::path(to).parent_path(), unknown).available == 0;
  return full ? resource_exhausted("cannot write {}: {}", to, std::strerror(ENOSPC))
              : not_moved(to, error.message().c_str());
}

}  // namespace

jobs::ScratchFolder folder_beside(const std::string& path, jobs::FolderKeeper* keeper) {
  return jobs::ScratchFolder(fs::path(path).parent_path(), ".capstan-save-", jobs::random_hex(8),
                             keeper);
}

void move_into_place(const std::string& from, const std::string& to, jobs::FolderKeeper* keeper) {
  if (rename(from.c_str(), to.c_str()) == 0) return;
  if (errno != EXDEV) throw not_moved(to, std::strerror(errno));
  const jobs::ScratchFolder beside = folder_beside(to, keeper);
  const std::string copy = beside.path() + "/copy";
  std::error_code error;
  fs::copy(from, copy, fs::copy_options::recursive, error);
  if (!error) sync_below(copy);
  if (!error) fs::rename(copy, to, error);
  if (error) throw not_copied(to, error);
  fs::remove_all(from, error);
}

}  // namespace capstan::duck
