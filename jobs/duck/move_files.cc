#include <fcntl.h>
#include <fmt/format.h>
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

}  // namespace

std::string name_beside(const std::string& path) {
  fs::path place(path);
  return place.parent_path() /
         fmt::format(".{}.{}", place.filename().string(), jobs::random_hex(4));
}

void move_into_place(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return;
  if (errno != EXDEV) throw not_moved(to, std::strerror(errno));
  std::string beside = name_beside(to);
  std::error_code error;
  fs::copy(from, beside, fs::copy_options::recursive, error);
  if (!error) sync_below(beside);
  if (!error) fs::rename(beside, to, error);
  std::error_code ignored;
  if (error) fs::remove_all(beside, ignored);
  if (error) throw not_moved(to, error.message().c_str());
  fs::remove_all(from, ignored);
}

}  // namespace capstan::duck
