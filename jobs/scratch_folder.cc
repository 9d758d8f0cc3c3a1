#include "jobs/scratch_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"

namespace capstan::jobs {
namespace {

namespace fs = std::filesystem;

bool stands_at(int fd, const std::string& path) {
  struct stat mine {
  }, there{};
  return fstat(fd, &mine) == 0 && lstat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

Fd open_folder(const std::string& path) {
  return Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

// 0, or why there is no lock.
int lock(int fd, int how) {
  while (flock(fd, how) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// Where there are no locks nothing tells whether somebody is at work.
void remove_abandoned(const std::string& parent, std::string_view prefix) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    const Fd fd = open_folder(entry.path());
    if (fd && lock(fd.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), error);
  }
}

// Whoever cleans up may remove the new folder before it is locked: he is waited for, and it is made
// again.
Fd make_locked(const std::string& parent, const std::string& path) {
  for (int tries = 0; tries < 100; ++tries) {
    posix_files().make_dirs(parent);
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST && errno != ENOENT) {
      const Code code = errno == EACCES || errno == EROFS || errno == EPERM
                            ? Code::kPermissionDenied
                            : Code::kFailedPrecondition;
      throw Error(code, fmt::format("cannot make the folder {}: {}", path, std::strerror(errno)));
    }
    Fd fd = open_folder(path);
    if (fd) lock(fd.get(), LOCK_EX);
    if (fd && stands_at(fd.get(), path)) return fd;
  }
  throw failed_precondition("{}: somebody else removes it again and again", path);
}

}  // namespace

Fd lock_folder(const std::string& path) {
  Fd fd = open_folder(path);
  if (fd && lock(fd.get(), LOCK_EX | LOCK_NB) == EWOULDBLOCK) fd.reset();
  return fd;
}

ScratchFolder::ScratchFolder(const std::string& parent, std::string_view prefix,
                             const std::string& id, FolderKeeper* keeper)
    : path_(join_path(parent, std::string(prefix) + id)), keeper_(keeper) {
  remove_abandoned(parent, prefix);
  if (keeper_) keeper_->keep(path_);
  try {
    lock_ = make_locked(parent, path_);
  } catch (...) {
    release();
    throw;
  }
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code error;  // the next one tries again
  fs::remove_all(path_, error);
  release();
}

void ScratchFolder::release() {
  if (keeper_) keeper_->forget(path_);
  path_.clear();
}

std::string temporary_parent() {
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  if (error) throw not_found("the folder for temporary files (TMPDIR): {}", error.message());
  const std::string path = base / fmt::format("capstan-{}", getuid());
  struct stat info {};
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw permission_denied("cannot make the folder {}: {}; set TMPDIR to one where you may", path,
                            std::strerror(errno));
  }
  const bool ours = lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                    info.st_uid == getuid() && (info.st_mode & 0022) == 0;
  if (!ours) {
    throw permission_denied("{} is not a folder of yours alone: remove it, or set TMPDIR", path);
  }
  return path;
}

}  // namespace capstan::jobs
