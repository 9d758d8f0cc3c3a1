#pragma once

// Where checkpoints, events and data lie. Code that reads or writes files takes a Files&, so that
// tests and the simulator can put memory and failures in place of a disk. Errors carry the path and
// the code that fits: NotFound, PermissionDenied, ResourceExhausted for a full disk, and so on.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capstan {

// Thread-safe: a read has its own offset.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual uint64_t size() const = 0;
  // Fills at most `size` bytes of `out` from `offset` on; fewer only at the end of the file.
  virtual size_t read_at(uint64_t offset, char* out, size_t size) const = 0;
};

// One writer. Buffered: other processes see bytes after flush(), a crash of the machine spares them
// after sync(). A destructor closes but cannot report; call close() to learn of a failure.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual void append(std::string_view bytes) = 0;
  virtual void flush() = 0;
  virtual void sync() = 0;
  virtual void close() = 0;
};

enum class WriteMode {
  kReplace,  // what was there is gone
  kAppend,
  kNew,  // AlreadyExists when the file is there
  // kReplace, and locked for as long as it is open, which tells it from what dead writers left.
  kTemporary,
};

struct FileInfo {
  uint64_t size = 0;
  int64_t modified_ns = 0;  // since 1970
  bool is_dir = false;
};

class Files {
 public:
  virtual ~Files() = default;

  virtual std::unique_ptr<ReadableFile> open(const std::string& path) = 0;
  virtual std::unique_ptr<WritableFile> create(const std::string& path,
                                               WriteMode mode = WriteMode::kReplace) = 0;
  // Nothing when there is no such file; other failures throw.
  virtual std::optional<FileInfo> stat(const std::string& path) = 0;
  // Names inside a folder, sorted, without "." and "..".
  virtual std::vector<std::string> list(const std::string& dir) = 0;
  // Paths that match a shell pattern (* ? [a-z]), sorted.
  virtual std::vector<std::string> glob(const std::string& pattern) = 0;
  virtual void make_dirs(const std::string& dir) = 0;
  // Atomic; what stood at `to` is replaced.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // Makes creations, renames and removals inside the folder survive a crash of the machine.
  virtual void sync_dir(const std::string& dir) = 0;
  virtual void remove(const std::string& path) = 0;
  // A file, or a folder with all that it holds. Nothing happens when there is none.
  virtual void remove_all(const std::string& path) = 0;
  // Removes a file of kTemporary that nobody writes any more. False, and the file stays, when its
  // writer lives, in whatever process, or when that cannot be known.
  virtual bool remove_abandoned(const std::string&) { return false; }

  bool exists(const std::string& path) { return stat(path).has_value(); }
  std::string read(const std::string& path);
};

// This machine's disks. The object has no state, hence one serves everybody.
Files& posix_files();

// "a/b" -> "a"; "b" -> "."; "/b" -> "/".
std::string dir_of(const std::string& path);
// "a/b" -> "b".
std::string name_of(const std::string& path);
// `name` itself when it is absolute or dir is empty.
std::string join_path(const std::string& dir, const std::string& name);

}  // namespace capstan
