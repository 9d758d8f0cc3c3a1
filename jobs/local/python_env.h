#pragma once

// Which interpreter a name of an environment means: a path, a venv, a conda environment.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capstan::jobs {

using Environment = std::function<std::string(const char* name)>;  // empty: not set

// The folders where an environment of this name may lie, in the order in which they are tried.
std::vector<std::string> python_env_places(const std::string& name, const Environment& environment);

struct FoundPython {
  std::string path;                 // empty: there is none
  std::vector<std::string> places;  // where it was looked for
};

// `env`: an interpreter, the folder of an environment, or the name of one.
FoundPython find_python_env(const std::string& env, const Environment& environment);

// "cpython-311", by running it. Throws FailedPrecondition if it does not answer.
std::string python_tag(const std::string& python);

// The tags of the extension below a folder of packages; none where it lies elsewhere.
std::vector<std::string> extension_tags(const std::string& python_path);

// Throws InvalidArgument, with both versions, if the extension was made for another Python.
void check_python_fits(const std::string& python, const std::string& python_path);

}  // namespace capstan::jobs
