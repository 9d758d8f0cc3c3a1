#include "base/files.h"

#include "base/error.h"

namespace capstan {

std::string Files::read(const std::string& path) {
  std::unique_ptr<ReadableFile> file = open(path);
  std::string bytes(file->size(), '\0');
  bytes.resize(file->read_at(0, bytes.data(), bytes.size()));
  // Files that grow, and those of /proc, hold more than they announce.
  for (char chunk[4096]; size_t got = file->read_at(bytes.size(), chunk, sizeof chunk);) {
    bytes.append(chunk, got);
  }
  return bytes;
}

std::string dir_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string join_path(const std::string& dir, const std::string& name) {
  if (dir.empty() || name.starts_with('/') || name.find("://") != std::string::npos) return name;
  return dir.ends_with('/') ? dir + name : dir + "/" + name;
}

}  // namespace capstan
