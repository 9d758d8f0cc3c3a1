#pragma once

// For tests: an empty folder of their own that goes with its object.

#include <stdlib.h>

#include <string>

#include "base/error.h"
#include "base/files.h"

namespace capstan {

class TemporaryFolder {
 public:
  TemporaryFolder() { CAPSTAN_CHECK(mkdtemp(path_.data())); }
  ~TemporaryFolder() { posix_files().remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return join_path(path_, name); }
  // Makes a file, and the folders above it.
  std::string put(const std::string& name, std::string_view bytes) const {
    posix_files().make_dirs(dir_of(file(name)));
    auto out = posix_files().create(file(name));
    out->append(bytes);
    out->close();
    return file(name);
  }

 private:
  std::string path_ = "/tmp/capstan-test-XXXXXX";
};

}  // namespace capstan
