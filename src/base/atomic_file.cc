#include "base/atomic_file.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"

namespace capstan {
namespace {

constexpr std::string_view kMark = ".part-";

// A name that no other thread on this machine uses now.
std::string temp_path(const std::string& path) {
  return fmt::format("{}{}{}-{}", path, kMark, ::getpid(), ::gettid());
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return c >= '0' && c <= '9'; });
}

// "a.index.part-12-34" -> "a.index"; nothing for other names.
std::optional<std::string_view> final_name(std::string_view name) {
  size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view ids = name.substr(mark + kMark.size());
  size_t dash = ids.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  if (!is_number(ids.substr(0, dash)) || !is_number(ids.substr(dash + 1))) return std::nullopt;
  return name.substr(0, mark);
}

}  // namespace

AtomicFile::AtomicFile(Files& files, const std::string& path)
    : files_(files), temp_(temp_path(path)), file_(files.create(temp_, WriteMode::kTemporary)) {}

AtomicFile::~AtomicFile() {
  if (!file_) return;
  try {
    files_.remove_all(temp_);
  } catch (const Error&) {  // the next writer in the folder removes it
  }
}

// The lock goes with the descriptor: closed before the rename, the file would be anybody's.
void AtomicFile::publish(const std::string& path) {
  file_->sync();
  files_.rename(temp_, path);
  std::exchange(file_, nullptr)->close();
}

void write_atomically(Files& files, const std::string& path, std::string_view bytes) {
  remove_leftovers(files, dir_of(path),
                   [&](std::string_view name) { return name == name_of(path); });
  AtomicFile file(files, path);
  file.append(bytes);
  file.publish(path);
  files.sync_dir(dir_of(path));
}

void remove_leftovers(Files& files, const std::string& dir,
                      FunctionRef<bool(std::string_view name)> ours) {
  if (!files.exists(dir)) return;
  for (const std::string& name : files.list(dir)) {
    std::optional<std::string_view> final = final_name(name);
    if (final && ours(*final)) files.remove_abandoned(join_path(dir, name));
  }
}

}  // namespace capstan
