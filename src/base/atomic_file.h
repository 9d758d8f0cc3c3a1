#pragma once

// Files that are whole or absent: written beside, synced, renamed. What a process that died left
// beside them is removed by whoever writes there next.

#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/function_ref.h"

namespace capstan {

// Bytes under a temporary name beside `path`, until publish(). Without it nothing is left.
class AtomicFile {
 public:
  AtomicFile(Files& files, const std::string& path);
  ~AtomicFile();
  AtomicFile(AtomicFile&&) = default;
  AtomicFile& operator=(AtomicFile&&) = delete;

  void append(std::string_view bytes) { file_->append(bytes); }
  // After this neither a full disk nor a crash can take the bytes.
  void sync() { file_->sync(); }
  // Syncs, and gives the file its name; what stood there is replaced. A crash of the machine spares
  // the name once the folder is synced, too.
  void publish(const std::string& path);

 private:
  Files& files_;
  std::string temp_;
  std::unique_ptr<WritableFile> file_;  // none once it is published
};

// The whole file at once, the folder synced.
void write_atomically(Files& files, const std::string& path, std::string_view bytes);

// Removes temporary files that dead writers left in the folder, where `ours` accepts the name that
// the file was to get. Those of the living stay, in whatever process they are.
void remove_leftovers(Files& files, const std::string& dir,
                      FunctionRef<bool(std::string_view name)> ours);

}  // namespace capstan
