#include "io/checkpoint_folder.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/error.h"
#include "io/bundle.h"

namespace capstan {
namespace {

constexpr std::string_view kIndexEnding = ".index";

// Somebody who saves meanwhile replaces the state file before what it named goes.
constexpr int kLooks = 3;

// What is wrong with the bundle; nothing when it is whole, as far as its index and sizes tell.
std::string problem_of(Files& files, const std::string& prefix) {
  try {
    BundleReader(files, prefix).check_whole();
  } catch (const Error& e) {
    if (e.code() == Code::kUnimplemented) return "";
    // What a system refuses now (descriptors, rights, memory) says nothing of the bundle.
    const bool damaged = e.code() == Code::kNotFound || e.code() == Code::kDataLoss ||
                         e.code() == Code::kInvalidArgument || e.code() == Code::kOutOfRange;
    if (!damaged) throw;
    return e.message();
  }
  return "";
}

bool whole(Files& files, const std::string& prefix) { return problem_of(files, prefix).empty(); }

// "model.ckpt-120" -> 120; -1 without a step.
int64_t step_of(std::string_view prefix) {
  std::string_view digits = prefix.substr(prefix.rfind('-') + 1);
  int64_t step = -1;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  bool good =
      digits.size() < prefix.size() && error == std::errc() && end == digits.data() + digits.size();
  return good ? step : -1;
}

struct Candidate {
  std::string prefix;
  int64_t step;
  int64_t modified_ns;
};

// By step, which copying a folder keeps, then by time. Newest first.
std::vector<Candidate> bundles_in(Files& files, const std::string& dir) {
  std::vector<Candidate> found;
  const std::string where = dir.empty() ? "." : dir;
  if (!files.exists(where)) return found;
  for (const std::string& name : files.list(where)) {
    if (!name.ends_with(kIndexEnding)) continue;
    std::optional<FileInfo> info = files.stat(join_path(dir, name));
    if (!info) continue;  // removed just now
    std::string stem = name.substr(0, name.size() - kIndexEnding.size());
    found.push_back({join_path(dir, stem), step_of(stem), info->modified_ns});
  }
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.step, a.modified_ns, a.prefix) > std::tie(b.step, b.modified_ns, b.prefix);
  });
  return found;
}

class Look {
 public:
  Look(Files& files, const std::string& dir, const std::string& filename)
      : files_(files), dir_(dir), path_(join_path(dir, filename)), filename_(filename) {}

  CheckpointFolder at() {
    std::string problem = read();
    if (problem.empty()) return std::move(out_);
    if (!out_.state && !files_.exists(path_) && filename_ != kCheckpointStateName) return {};
    take_recorded() || take_found();
    if (!used_.empty()) {
      out_.warning = fmt::format("{}; using {}, the newest whole checkpoint there", problem, used_);
    } else if (!nothing_there_) {
      out_.warning = fmt::format("{}; no whole checkpoint is left in {}", problem, dir_);
    }
    return std::move(out_);
  }

 private:
  // What is wrong with the state file or with what it names.
  std::string read() {
    try {
      out_.state = read_checkpoint_state(files_, dir_, filename_);
    } catch (const Error& e) {
      if (e.code() != Code::kDataLoss) throw;
      return e.message();
    }
    if (!out_.state) return fmt::format("{} is missing", path_);
    const std::string& newest = out_.state->model_checkpoint_path;
    if (newest.empty()) {
      out_.state.reset();
      return fmt::format("{} names no checkpoint", path_);
    }
    std::string problem = problem_of(files_, newest);
    return problem.empty() ? "" : fmt::format("{} names {}, but {}", path_, newest, problem);
  }

  bool take_recorded() {
    if (!out_.state) return false;
    std::vector<std::string> all = out_.state->all_model_checkpoint_paths;
    std::erase_if(all, [&](const std::string& prefix) { return !whole(files_, prefix); });
    if (all.empty()) return false;
    used_ = all.back();
    out_.state = CheckpointStateInfo{used_, std::move(all), {}, 0};
    return true;
  }

  bool take_found() {
    std::vector<Candidate> found = bundles_in(files_, dir_);
    nothing_there_ = !out_.state && !files_.exists(path_) && found.empty();
    auto it = std::find_if(found.begin(), found.end(),
                           [&](const Candidate& c) { return whole(files_, c.prefix); });
    if (it == found.end()) return false;
    used_ = it->prefix;
    out_.state = CheckpointStateInfo{used_, {used_}, {}, 0};
    out_.recorded = false;
    return true;
  }

  Files& files_;
  const std::string& dir_;
  const std::string path_;
  const std::string& filename_;
  CheckpointFolder out_;
  std::string used_;
  bool nothing_there_ = false;
};

std::optional<int64_t> modified(Files& files, const std::string& path) {
  std::optional<FileInfo> info = files.stat(path);
  return info ? std::optional(info->modified_ns) : std::nullopt;
}

}  // namespace

CheckpointFolder look_into_checkpoint_folder(Files& files, const std::string& dir,
                                             const std::string& filename) {
  const std::string path = join_path(dir, filename);
  for (int i = 1;; ++i) {
    std::optional<int64_t> before = modified(files, path);
    CheckpointFolder folder = Look(files, dir, filename).at();
    if (folder.warning.empty() || i == kLooks || modified(files, path) == before) return folder;
  }
}

}  // namespace capstan
