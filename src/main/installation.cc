#include "main/installation.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace capstan::cli {
namespace {

namespace fs = std::filesystem;

bool has_front(const fs::path& folder) { return fs::exists(folder / "tensorflow"); }

// A build tree says in capstan.paths, beside the program, where its sources and its venv are.
Installation from_build_tree(const fs::path& file) {
  Installation found;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    std::string name = line.substr(0, equals), value = line.substr(equals + 1);
    if (name == "python_path" && found.python_path.empty() && has_front(value)) {
      found.python_path = value;
    }
    if (name == "python" && fs::exists(value)) found.own_python = value;
  }
  return found;
}

// A wheel lies below the environment whose interpreter it was made for.
std::string python_above(fs::path folder) {
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    fs::path python = folder / "bin" / "python3";
    if (fs::exists(python)) return python;
  }
  return "";
}

std::string env_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string checked_python(const std::string& path) {
  bool is_path = path.find('/') != std::string::npos;
  if (is_path && access(path.c_str(), X_OK) != 0) {
    throw not_found("--python {}: no such interpreter", path);
  }
  return path;
}

}  // namespace

Installation find_installation() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path here = self.parent_path();
  if (fs::exists(here / "capstan.paths")) return from_build_tree(here / "capstan.paths");
  // <prefix>/bin/capstan beside <prefix>/lib/capstan/python; in a wheel bin/ beside front/.
  for (const char* place : {"../lib/capstan/python", "../front"}) {
    fs::path folder = (here / place).lexically_normal();
    if (has_front(folder)) return {folder, python_above(here.parent_path())};
  }
  return {};
}

std::string find_python(const std::string& asked, const Installation& installation) {
  if (!asked.empty()) return checked_python(asked);
  std::string active = env_or_empty("VIRTUAL_ENV");
  if (!active.empty() && access((active + "/bin/python").c_str(), X_OK) == 0) {
    return active + "/bin/python";
  }
  return installation.own_python.empty() ? "python3" : installation.own_python;
}

std::string python_path_for_tasks(const Installation& installation) {
  if (installation.python_path.empty()) {
    throw failed_precondition(
        "the Python side is missing: no folder with our tensorflow/ near this program; build with "
        "CAPSTAN_PYTHON=ON, or run ./capstan in the repository");
  }
  std::string already = env_or_empty("PYTHONPATH");
  return already.empty() ? installation.python_path : installation.python_path + ":" + already;
}

}  // namespace capstan::cli
