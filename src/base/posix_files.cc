#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace capstan {
namespace {

constexpr size_t kWriteBuffer = 64 << 10;

Code code_of(int number) {
  switch (number) {
    case ENOENT: return Code::kNotFound;
    case EEXIST: return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return Code::kResourceExhausted;
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY: return Code::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG: return Code::kInvalidArgument;
    default: return Code::kUnknown;
  }
}

const char* remedy(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT: return "; free some space there or choose another folder";
    case EACCES:
    case EPERM:
    case EROFS: return "; choose a folder that you may write to, or change its permissions";
    case EFBIG: return "; raise the limit on the size of files (ulimit -f), or save less";
    case EMFILE:
    case ENFILE: return "; raise the limit on open files (ulimit -n)";
    default: return "";
  }
}

[[noreturn]] void fail(const char* verb, const std::string& path, int number = errno) {
  throw Error(code_of(number),
              fmt::format("cannot {} {}: {}{}", verb, path, std::strerror(number), remedy(number)));
}

// Paths as programs write them: "file:///a" is "/a", other schemes are not for this class.
std::string local(const std::string& path) {
  size_t scheme = path.find("://");
  if (scheme == std::string::npos || path.find('/') < scheme) return path;
  if (path.starts_with("file://")) return path.substr(7);
  throw unimplemented("{}: files of the kind {}:// are not supported; use a local or mounted path",
                      path, path.substr(0, scheme));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Descriptor open_or_fail(const std::string& path, int flags, const char* verb) {
  int fd;
  do {
    fd = ::open(local(path).c_str(), flags | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) fail(verb, path);
  return Descriptor(fd);
}

class PosixReadable : public ReadableFile {
 public:
  PosixReadable(std::string path, Descriptor fd, uint64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

  uint64_t size() const override { return size_; }

  size_t read_at(uint64_t offset, char* out, size_t size) const override {
    size_t done = 0;
    while (done < size) {
      ssize_t got = ::pread(fd_.get(), out + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("read", path_);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

 private:
  const std::string path_;
  const Descriptor fd_;
  const uint64_t size_;
};

class PosixWritable : public WritableFile {
 public:
  PosixWritable(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  ~PosixWritable() override {
    try {
      close();
    } catch (const Error&) {  // whoever cares has called close()
    }
  }

  void append(std::string_view bytes) override {
    if (fd_.get() < 0) throw failed_precondition("{} is already closed", path_);
    if (buffer_.size() + bytes.size() > kWriteBuffer) flush();
    if (bytes.size() >= kWriteBuffer) return write(bytes);
    buffer_.append(bytes);
  }

  void flush() override {
    if (buffer_.empty()) return;
    std::string bytes = std::exchange(buffer_, {});
    write(bytes);
    bytes.clear();
    buffer_ = std::move(bytes);  // keeps the capacity
  }

  void sync() override {
    flush();
    if (fd_.get() >= 0 && ::fsync(fd_.get()) != 0) fail("sync", path_);
  }

  void close() override {
    if (fd_.get() < 0) return;
    flush();
    if (::close(fd_.release()) != 0 && errno != EINTR) fail("close", path_);
  }

 private:
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t done = ::write(fd_.get(), bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail("write to", path_);
      bytes.remove_prefix(static_cast<size_t>(done));
    }
  }

  const std::string path_;
  Descriptor fd_;
  std::string buffer_;
};

int flags_of(WriteMode mode) {
  switch (mode) {
    case WriteMode::kReplace: return O_WRONLY | O_CREAT | O_TRUNC;
    case WriteMode::kAppend: return O_WRONLY | O_CREAT | O_APPEND;
    case WriteMode::kNew: return O_WRONLY | O_CREAT | O_EXCL;
    case WriteMode::kTemporary: return O_WRONLY | O_CREAT;  // cut once it is ours
  }
  return O_WRONLY;
}

// Whether the path still leads to the open file.
bool stands_at(int fd, const std::string& path) {
  struct stat mine, there;
  return ::fstat(fd, &mine) == 0 && ::stat(local(path).c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

bool lock(int fd, int how) {
  int result;
  do {
    result = ::flock(fd, how);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// A lock of the kernel's ends with the process that holds it, however that dies. Where the file
// system has none, nobody's leftovers are removed either.
Descriptor open_temporary(const std::string& path) {
  for (;;) {
    Descriptor fd = open_or_fail(path, flags_of(WriteMode::kTemporary), "create");
    bool locked = lock(fd.get(), LOCK_EX);
    if (locked && !stands_at(fd.get(), path)) continue;  // removed as a leftover before the lock
    if (::ftruncate(fd.get(), 0) != 0) fail("create", path);
    return fd;
  }
}

class PosixFiles : public Files {
 public:
  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    Descriptor fd = open_or_fail(path, O_RDONLY, "open");
    struct stat info;
    if (::fstat(fd.get(), &info) != 0) fail("inspect", path);
    if (S_ISDIR(info.st_mode)) fail("read", path, EISDIR);
    return std::make_unique<PosixReadable>(path, std::move(fd),
                                           static_cast<uint64_t>(info.st_size));
  }

  std::unique_ptr<WritableFile> create(const std::string& path, WriteMode mode) override {
    const bool temporary = mode == WriteMode::kTemporary;
    return std::make_unique<PosixWritable>(
        path, temporary ? open_temporary(path) : open_or_fail(path, flags_of(mode), "create"));
  }

  std::optional<FileInfo> stat(const std::string& path) override {
    struct stat info;
    if (::stat(local(path).c_str(), &info) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
      fail("inspect", path);
    }
    return FileInfo{static_cast<uint64_t>(info.st_size),
                    info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec,
                    S_ISDIR(info.st_mode)};
  }

  std::vector<std::string> list(const std::string& dir) override {
    std::error_code error;
    std::vector<std::string> names;
    std::filesystem::directory_iterator it(local(dir), error), end;
    while (!error && it != end) {
      names.push_back(it->path().filename().string());
      it.increment(error);
    }
    if (error) fail("list", dir, error.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<std::string> glob(const std::string& pattern) override {
    glob_t found{};
    int result = ::glob(local(pattern).c_str(), 0, nullptr, &found);
    int number = errno;
    std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (result != 0 && result != GLOB_NOMATCH) fail("search for", pattern, number);
    return paths;
  }

  void make_dirs(const std::string& dir) override {
    if (dir.empty()) return;  // of a name without a folder: the current one
    std::error_code error;
    std::filesystem::create_directories(local(dir), error);
    if (error) fail("make the folder", dir, error.value());
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::rename(local(from).c_str(), local(to).c_str()) != 0) {
      int number = errno;
      fail("rename", fmt::format("{} to {}", from, to), number);
    }
  }

  void sync_dir(const std::string& dir) override {
    Descriptor fd = open_or_fail(dir, O_RDONLY | O_DIRECTORY, "open the folder");
    // Some network file systems cannot sync a folder and say so with EINVAL.
    if (::fsync(fd.get()) != 0 && errno != EINVAL) fail("sync the folder", dir);
  }

  void remove(const std::string& path) override {
    if (::remove(local(path).c_str()) != 0) fail("remove", path);
  }

  void remove_all(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(local(path), error);
    if (error) fail("remove", path, error.value());
  }

  bool remove_abandoned(const std::string& path) override {
    Descriptor fd(::open(local(path).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd.get() < 0 || !lock(fd.get(), LOCK_EX | LOCK_NB) || !stands_at(fd.get(), path))
      return false;
    return ::unlink(local(path).c_str()) == 0;
  }
};

}  // namespace

Files& posix_files() {
  static Files& files = *new PosixFiles();  // never destroyed: threads may outlive main()
  return files;
}

}  // namespace capstan
