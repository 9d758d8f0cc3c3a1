#include "jobs/local/python_env.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"
#include "jobs/local/process.h"

namespace capstan::jobs {
namespace {

namespace fs = std::filesystem;

constexpr int kPatience = 30'000;  // milliseconds, for an interpreter to say who it is
constexpr std::string_view kTagBegin = "cpython-";

bool is_program(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string python_in(const std::string& folder) {
  for (const char* name : {"bin/python", "bin/python3"}) {
    if (std::string path = join_path(folder, name); is_program(path)) return path;
  }
  return "";
}

std::string first_line_of(const std::vector<std::string>& command) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) throw resource_exhausted("no pipe for {}", command[0]);
  Fd reading(fds[0]), writing(fds[1]);
  ProcessOptions options{.argv = command, .env = {}, .cwd = {}};
  for (char** entry = environ; *entry; ++entry) options.env.emplace_back(*entry);
  options.output = writing.get();
  Process process(options);
  writing.reset();
  std::string text;
  pollfd ready{reading.get(), POLLIN, 0};
  char buffer[256];
  while (text.find('\n') == text.npos && poll(&ready, 1, kPatience) == 1) {
    ssize_t n = read(reading.get(), buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, size_t(n));
  }
  return text.substr(0, text.find('\n'));
}

// "cpython-311" -> "3.11"
std::string version_of(std::string_view tag) {
  if (!tag.starts_with(kTagBegin) || tag.size() < kTagBegin.size() + 2) return std::string(tag);
  std::string digits(tag.substr(kTagBegin.size()));
  return digits.substr(0, 1) + "." + digits.substr(1);
}

}  // namespace

std::vector<std::string> python_env_places(const std::string& name,
                                           const Environment& environment) {
  std::vector<std::string> places;
  auto below = [&](const std::string& folder, const std::string& sub) {
    if (!folder.empty()) places.push_back((fs::path(folder) / sub / name).lexically_normal());
  };
  const std::string home = environment("HOME"), conda = environment("CONDA_PREFIX");
  std::error_code error;
  below(fs::current_path(error), "");
  below(environment("WORKON_HOME"), "");
  below(home, ".virtualenvs");
  below(conda, "envs");
  below(conda, "..");                                    // an environment is active: its neighbours
  const std::string program = environment("CONDA_EXE");  // <root>/bin/conda
  if (!program.empty()) below(dir_of(dir_of(program)), "envs");
  below(environment("MLFLOW_CONDA_HOME"), "envs");
  below(environment("CONDA_ENVS_PATH"), "");
  for (const char* folder : {".conda/envs", "miniconda3/envs", "anaconda3/envs"})
    below(home, folder);
  below("/opt/conda", "envs");
  std::vector<std::string> once;
  for (std::string& place : places) {
    if (std::ranges::find(once, place) == once.end()) once.push_back(std::move(place));
  }
  return once;
}

FoundPython find_python_env(const std::string& env, const Environment& environment) {
  FoundPython found;
  if (env.find('/') != env.npos) {
    found.places = {env};
    found.path = is_program(env) ? env : python_in(env);
    return found;
  }
  for (const std::string& place : python_env_places(env, environment)) {
    found.places.push_back(place);
    found.path = python_in(place);
    if (!found.path.empty()) break;
  }
  return found;
}

std::string python_tag(const std::string& python) {
  std::string tag = first_line_of(
      {python, "-I", "-S", "-c", "import sys; print(sys.implementation.cache_tag, flush=True)"});
  if (tag.empty() || tag.size() > 64 || tag.find_first_of(" \t") != tag.npos) {
    throw failed_precondition("{} does not say which Python it is", python);
  }
  return tag;
}

std::vector<std::string> extension_tags(const std::string& python_path) {
  std::vector<std::string> tags;
  const std::string folder = join_path(python_path.substr(0, python_path.find(':')), "capstan");
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    constexpr std::string_view kBegin = "_capstan.";
    if (!name.starts_with(kBegin) || !name.ends_with(".so")) continue;
    const std::string rest = name.substr(kBegin.size());  // cpython-311-x86_64-linux-gnu.so
    const size_t end = rest.find_first_of("-.", rest.find('-') + 1);
    if (rest.starts_with(kTagBegin)) tags.push_back(rest.substr(0, end));
  }
  return tags;
}

void check_python_fits(const std::string& python, const std::string& python_path) {
  const std::vector<std::string> made_for = extension_tags(python_path);
  if (made_for.empty()) return;
  const std::string tag = python_tag(python);
  if (std::ranges::find(made_for, tag) != made_for.end()) return;
  throw invalid_argument(
      "{} is Python {}, and this Capstan was made for Python {}; name an environment of that "
      "version",
      python, version_of(tag), version_of(made_for.front()));
}

}  // namespace capstan::jobs
