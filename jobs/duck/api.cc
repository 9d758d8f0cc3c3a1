#include "jobs/duck/api.h"

#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "base/error.h"

namespace capstan::duck {
namespace {

constexpr const char* kRemedy =
    "tools/fetch_duckdb.py gets it, ./capstan does so by itself; then build or install again";

std::atomic<const Api*> current{nullptr};

template <class Function>
void find(void* library, const std::string& path, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw failed_precondition("{} is not DuckDB's library: no {} in it", path, name);
}

Api open_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw failed_precondition("cannot load DuckDB: {}; {}", dlerror(), kRemedy);
  Api api;
#define CAPSTAN_DUCKDB_FIND(result, name, arguments) find(library, path, "duckdb_" #name, api.name);
  CAPSTAN_DUCKDB_FUNCTIONS(CAPSTAN_DUCKDB_FIND)
#undef CAPSTAN_DUCKDB_FIND
  if (std::string_view(api.library_version()) != kDuckdbVersion) {
    throw failed_precondition("{} is DuckDB {}; this program was made for {}; {}", path,
                              api.library_version(), kDuckdbVersion, kRemedy);
  }
  return api;
}

}  // namespace

const Api& load_api(const std::string& library) {
  static std::mutex mutex;
  static std::map<std::string, Api> loaded;
  if (library.empty()) {
    throw failed_precondition("SQL needs DuckDB's library, and libduckdb.so is not there; {}",
                              kRemedy);
  }
  std::lock_guard lock(mutex);
  auto found = loaded.find(library);
  if (found == loaded.end()) found = loaded.emplace(library, open_library(library)).first;
  current = &found->second;
  return found->second;
}

const Api& loaded_api() { return *current; }

std::string find_library(const std::string& program) {
  namespace fs = std::filesystem;
  fs::path here = fs::path(program).parent_path();
  for (const char* place : {"libduckdb.so", "../lib/capstan/libduckdb.so"}) {
    fs::path library = (here / place).lexically_normal();
    if (fs::exists(library)) return library;
  }
  // Programs of a build tree lie at different depths in it; the library is at its top.
  for (; here.has_relative_path(); here = here.parent_path()) {
    if (!fs::exists(here / "CMakeCache.txt")) continue;
    return fs::exists(here / "libduckdb.so") ? (here / "libduckdb.so").string() : "";
  }
  return {};
}

}  // namespace capstan::duck
