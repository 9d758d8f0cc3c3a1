#include "jobs/duck/core.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "jobs/random_hex.h"

namespace capstan::duck {
namespace {

namespace fs = std::filesystem;

std::string own_library() {
  std::error_code error;
  return find_library(fs::read_symlink("/proc/self/exe", error));
}

EngineOptions filled(EngineOptions options) {
  if (options.library.empty()) options.library = own_library();
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

}  // namespace

std::string missing_library(const EngineOptions& options) {
  std::string library = filled(options).library;
  if (!library.empty() && fs::exists(library)) return {};
  return "SQL needs DuckDB's library libduckdb.so, which is not beside this program; "
         "tools/fetch_duckdb.py gets it";
}

Workspace::Workspace(const EngineOptions& options)
    : scratch_(options.temp_folder.empty() ? jobs::temporary_parent() : options.temp_folder, "sql-",
               jobs::random_hex(8), options.keeper),
      folder_(fs::canonical(scratch_.path())) {}

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
      workspace(options),
      interrupts(api),
      store(api, closed_settings(options)),
      link(api, store.raw(), interrupts) {
  link.run("SET GLOBAL temp_directory = " + sql_text(workspace.folder() + "/spill"));
  link.run("CREATE SCHEMA capstan");
  close_off(link, {}, workspace.folder() + "/");
}

}  // namespace capstan::duck
