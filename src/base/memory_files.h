#pragma once

// Files that live in memory, for tests, fuzzing and the simulator. Folders exist by being named in
// a path. Thread-safe.

#include <map>
#include <mutex>

#include "base/files.h"

namespace capstan {

std::unique_ptr<ReadableFile> memory_file(std::string bytes);

class MemoryFiles : public Files {
 public:
  std::unique_ptr<ReadableFile> open(const std::string& path) override;
  std::unique_ptr<WritableFile> create(const std::string& path,
                                       WriteMode mode = WriteMode::kReplace) override;
  std::optional<FileInfo> stat(const std::string& path) override;
  std::vector<std::string> list(const std::string& dir) override;
  std::vector<std::string> glob(const std::string& pattern) override;
  void make_dirs(const std::string&) override {}
  void rename(const std::string& from, const std::string& to) override;
  void sync_dir(const std::string&) override {}
  void remove(const std::string& path) override;
  void remove_all(const std::string& path) override;

  void put(const std::string& path, std::string bytes);

 private:
  std::mutex mutex_;
  // A file that is open for writing keeps its bytes when it is renamed.
  std::map<std::string, std::shared_ptr<std::string>> contents_;
};

}  // namespace capstan
