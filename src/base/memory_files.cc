#include "base/memory_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"

namespace capstan {
namespace {

class MemoryReadable : public ReadableFile {
 public:
  explicit MemoryReadable(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  size_t read_at(uint64_t offset, char* out, size_t size) const override {
    if (offset >= bytes_.size()) return 0;
    size_t count = std::min<size_t>(size, bytes_.size() - offset);
    std::memcpy(out, bytes_.data() + offset, count);
    return count;
  }

 private:
  const std::string bytes_;
};

class MemoryWritable : public WritableFile {
 public:
  MemoryWritable(std::mutex& mutex, std::shared_ptr<std::string> bytes)
      : mutex_(mutex), bytes_(std::move(bytes)) {}
  void append(std::string_view bytes) override {
    std::lock_guard lock(mutex_);
    bytes_->append(bytes);
  }
  void flush() override {}
  void sync() override {}
  void close() override {}

 private:
  std::mutex& mutex_;
  const std::shared_ptr<std::string> bytes_;
};

}  // namespace

std::unique_ptr<ReadableFile> memory_file(std::string bytes) {
  return std::make_unique<MemoryReadable>(std::move(bytes));
}

std::unique_ptr<ReadableFile> MemoryFiles::open(const std::string& path) {
  std::lock_guard lock(mutex_);
  auto it = contents_.find(path);
  if (it == contents_.end()) throw not_found("cannot open {}: no such file", path);
  return memory_file(*it->second);
}

std::unique_ptr<WritableFile> MemoryFiles::create(const std::string& path, WriteMode mode) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<std::string>& bytes = contents_[path];
  if (bytes && mode == WriteMode::kNew) throw already_exists("cannot create {}: it exists", path);
  if (mode != WriteMode::kAppend) bytes = std::make_shared<std::string>();
  return std::make_unique<MemoryWritable>(mutex_, bytes);
}

std::optional<FileInfo> MemoryFiles::stat(const std::string& path) {
  std::lock_guard lock(mutex_);
  auto it = contents_.lower_bound(path);
  if (it == contents_.end()) return std::nullopt;
  if (it->first == path) return FileInfo{it->second->size(), 0, false};
  it = contents_.lower_bound(path + "/");
  if (it == contents_.end() || !it->first.starts_with(path + "/")) return std::nullopt;
  return FileInfo{0, 0, true};
}

std::vector<std::string> MemoryFiles::list(const std::string& dir) {
  std::lock_guard lock(mutex_);
  std::string start = join_path(dir, "");
  std::set<std::string> names;
  for (const auto& [path, bytes] : contents_) {
    if (path.starts_with(start))
      names.insert(path.substr(start.size(), path.find('/', start.size()) - start.size()));
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> MemoryFiles::glob(const std::string& pattern) {
  std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : contents_) {
    if (::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0) paths.push_back(path);
  }
  return paths;
}

void MemoryFiles::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(mutex_);
  auto it = contents_.find(from);
  if (it == contents_.end()) throw not_found("cannot rename {} to {}: no such file", from, to);
  std::shared_ptr<std::string> bytes = it->second;
  contents_.erase(it);
  contents_[to] = std::move(bytes);
}

void MemoryFiles::remove(const std::string& path) {
  std::lock_guard lock(mutex_);
  if (contents_.erase(path) == 0) throw not_found("cannot remove {}: no such file", path);
}

void MemoryFiles::remove_all(const std::string& path) {
  std::lock_guard lock(mutex_);
  std::erase_if(contents_, [&](const auto& item) {
    return item.first == path || item.first.starts_with(path + "/");
  });
}

void MemoryFiles::put(const std::string& path, std::string bytes) {
  std::lock_guard lock(mutex_);
  contents_[path] = std::make_shared<std::string>(std::move(bytes));
}

}  // namespace capstan
