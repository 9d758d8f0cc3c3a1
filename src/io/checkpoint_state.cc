#include "io/checkpoint_state.h"

#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "io/text_fields.h"

namespace capstan {
namespace {

constexpr const char* kNewest = "model_checkpoint_path";
constexpr const char* kAll = "all_model_checkpoint_paths";
constexpr const char* kTimes = "all_model_checkpoint_timestamps";
constexpr const char* kPreserved = "last_preserved_timestamp";

bool is_absolute(const std::string& path) {
  return path.starts_with('/') || path.find("://") != std::string::npos;
}

// TensorFlow keeps a folder movable: inside a relative folder no path starts at the working
// directory.
std::string stored_path(const std::string& path, const std::string& dir, bool relative_paths) {
  if (is_absolute(path) && !relative_paths) return path;
  if (is_absolute(path) != is_absolute(dir)) return path;
  std::string relative = std::filesystem::path(path).lexically_relative(dir).string();
  return relative.empty() ? path : relative;
}

void add_text(std::string& out, const char* field, const std::string& value) {
  out += fmt::format("{}: {}\n", field, quote_text(value));
}

std::string text_of(const CheckpointStateInfo& info) {
  std::string out;
  add_text(out, kNewest, info.model_checkpoint_path);
  for (const std::string& path : info.all_model_checkpoint_paths) add_text(out, kAll, path);
  for (double time : info.all_model_checkpoint_timestamps)
    out += fmt::format("{}: {}\n", kTimes, time);
  if (info.last_preserved_timestamp != 0) {
    out += fmt::format("{}: {}\n", kPreserved, info.last_preserved_timestamp);
  }
  return out;
}

CheckpointStateInfo parse(const std::string& text, const std::string& path) {
  CheckpointStateInfo info;
  for (const TextField& field : parse_text_fields(text, path)) {
    if (field.name == kNewest) info.model_checkpoint_path = field.text(path);
    if (field.name == kAll) info.all_model_checkpoint_paths.push_back(field.text(path));
    if (field.name == kTimes) info.all_model_checkpoint_timestamps.push_back(field.number(path));
    if (field.name == kPreserved) info.last_preserved_timestamp = field.number(path);
  }
  return info;
}

}  // namespace

void write_checkpoint_state(Files& files, const std::string& dir, CheckpointStateInfo info,
                            bool relative_paths, const std::string& filename) {
  std::vector<std::string>& all = info.all_model_checkpoint_paths;
  if (all.empty() || all.back() != info.model_checkpoint_path)
    all.push_back(info.model_checkpoint_path);
  const auto& times = info.all_model_checkpoint_timestamps;
  if (!times.empty() && times.size() != all.size()) {
    throw invalid_argument("{} timestamps were given for {} checkpoints in {}", times.size(),
                           all.size(), dir);
  }
  for (std::string& path : all) path = stored_path(path, dir, relative_paths);
  info.model_checkpoint_path = all.back();
  files.make_dirs(dir);
  write_atomically(files, join_path(dir, filename), text_of(info));
}

std::optional<CheckpointStateInfo> read_checkpoint_state(Files& files, const std::string& dir,
                                                         const std::string& filename) {
  std::string path = join_path(dir, filename);
  if (!files.exists(path)) return std::nullopt;
  CheckpointStateInfo info = parse(files.read(path), path);
  for (std::string& p : info.all_model_checkpoint_paths) p = join_path(dir, p);
  if (!info.model_checkpoint_path.empty()) {
    info.model_checkpoint_path = join_path(dir, info.model_checkpoint_path);
  }
  return info;
}

}  // namespace capstan
