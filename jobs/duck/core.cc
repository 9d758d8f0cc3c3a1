#include "jobs/duck/core.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.h"

namespace capstan::duck {
namespace {

namespace fs = std::filesystem;

std::string own_library() {
  std::error_code error;
  return find_library(fs::read_symlink("/proc/self/exe", error));
}

EngineOptions filled(EngineOptions options) {
  if (options.library.empty()) options.library = own_library();
  if (options.temp_folder.empty()) options.temp_folder = fs::temp_directory_path();
  if (options.threads <= 0) options.threads = std::max(1u, std::thread::hardware_concurrency());
  if (options.memory_limit <= 0) {
    options.memory_limit = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE) / 2;
  }
  return options;
}

std::string list_of(std::vector<std::string> texts) {
  for (std::string& text : texts) text = sql_text(text);
  return fmt::format("[{}]", sql_list(texts));
}

constexpr const char* kFolderName = "/capstan-sql-";

// The lock of a folder; none if somebody has it.
Fd locked(const std::string& folder) {
  Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

bool is_old(const std::string& folder) {
  std::error_code error;
  auto age = fs::file_time_type::clock::now() - fs::last_write_time(folder, error);
  return !error && age > std::chrono::seconds(10);
}

bool is_ours(const std::string& folder) {
  struct stat info {};
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

void remove_abandoned(const std::string& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    std::string path = entry.path();
    if (!path.starts_with(parent + kFolderName) || !is_ours(path)) continue;
    // A folder that is not yet locked may be just being made.
    Fd lock = is_old(path) ? locked(path) : Fd();
    if (lock) fs::remove_all(path, ignored);
  }
}

}  // namespace

std::string missing_library(const EngineOptions& options) {
  std::string library = filled(options).library;
  if (!library.empty() && fs::exists(library)) return {};
  return "SQL needs DuckDB's library libduckdb.so, which is not beside this program; "
         "tools/fetch_duckdb.py gets it";
}

Workspace::Workspace(const std::string& parent) {
  remove_abandoned(parent);
  folder_ = parent + kFolderName + "XXXXXX";
  if (!mkdtemp(folder_.data())) {
    throw failed_precondition("cannot make a folder in {}: {}", parent, std::strerror(errno));
  }
  folder_ = fs::canonical(folder_);
  lock_ = locked(folder_);
}

Workspace::~Workspace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Workspace::fresh(const std::string& ending) {
  return fmt::format("{}/{}{}", folder_, ++names_, ending);
}

std::vector<Setting> closed_settings(const EngineOptions& options) {
  return {
      {"threads", std::to_string(options.threads)},
      {"memory_limit", fmt::format("{}B", options.memory_limit)},
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"allow_community_extensions", "false"},
      {"allow_unsigned_extensions", "false"},
      {"allow_persistent_secrets", "false"},
      {"errors_as_json", "true"},
  };
}

void close_off(Link& link, const std::vector<std::string>& paths, const std::string& folder) {
  if (!paths.empty()) link.run("SET GLOBAL allowed_paths = " + list_of(paths));
  if (!folder.empty()) link.run("SET GLOBAL allowed_directories = " + list_of({folder}));
  link.run("SET GLOBAL enable_external_access = false");
  link.run("SET GLOBAL lock_configuration = true");
}

Core::Core(const EngineOptions& given)
    : api(load_api(filled(given).library)),
      options(filled(given)),
      workspace(options.temp_folder),
      interrupts(api),
      store(api, closed_settings(options)),
      link(api, store.raw(), interrupts) {
  link.run("SET GLOBAL temp_directory = " + sql_text(workspace.folder() + "/spill"));
  link.run("CREATE SCHEMA capstan");
  close_off(link, {}, workspace.folder() + "/");
}

}  // namespace capstan::duck
