#include "jobs/local/log_folder.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
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

// Names are "date-time-pid"; a pid that was given anew only keeps a folder for longer.
bool still_runs(const fs::path& run) {
  const std::string name = run.filename();
  const long pid = std::strtol(name.c_str() + name.rfind('-') + 1, nullptr, 10);
  return pid > 0 && (kill(pid_t(pid), 0) == 0 || errno == EPERM);
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

LogFolder::LogFolder(const std::string& wanted) : path_(wanted), keep_(!wanted.empty()) {
  std::error_code error;
  if (keep_) {
    fs::create_directories(path_, error);
    if (error) throw invalid_argument("--log-dir {}: {}", wanted, error.message());
    return;
  }
  const std::string state = state_dir_from_environment();
  if (state.empty()) return;
  path_ = fs::path(state) / "runs" / fmt::format("{}-{}", time_text(), getpid());
  fs::create_directories(path_, error);
  if (error) path_.clear();
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
