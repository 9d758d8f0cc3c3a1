#include "jobs/local/log_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "jobs/local/log_reader.h"

namespace capstan::jobs {
namespace {

namespace fs = std::filesystem;
constexpr size_t kRunsKept = 10;

std::string time_text() {
  std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local)};
}

bool still_runs(const fs::path& run) {
  Fd fd(open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

// The names begin with the time, so their order is their age.
void remove_oldest(const fs::path& runs) {
  std::vector<fs::path> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(runs, error)) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i + kRunsKept < all.size(); ++i) {
    if (!still_runs(all[i])) fs::remove_all(all[i], error);
  }
}

}  // namespace

Fd lock_log_folder(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd && errno == EWOULDBLOCK) {
    throw failed_precondition(
        "--log-dir {}: another job writes its logs there; give each its own, or see capstan jobs",
        path);
  }
  return {};
}

LogFolder::LogFolder(const std::string& wanted, const std::string& job_id)
    : path_(wanted), keep_(!wanted.empty()) {
  std::error_code error;
  if (keep_) {
    fs::create_directories(path_, error);
    if (error) throw invalid_argument("--log-dir {}: {}", wanted, error.message());
    lock_ = lock_log_folder(path_);
    return;
  }
  const std::string state = state_dir_from_environment();
  if (state.empty()) return;
  path_ = fs::path(state) / "runs" / fmt::format("{}-{}", time_text(), job_id);
  fs::create_directories(path_, error);
  if (error) {
    path_.clear();
  } else {
    lock_ = lock_log_folder(path_);
  }
}

LogFolder::~LogFolder() {
  if (keep_ || path_.empty()) return;
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string LogFolder::file_for(const TaskId& task) const {
  if (path_.empty()) return "";
  return path_ / log_file_name(task);
}

std::string LogFolder::keep() {
  if (!path_.empty() && !keep_) remove_oldest(path_.parent_path());
  keep_ = true;
  return path_;
}

}  // namespace capstan::jobs
