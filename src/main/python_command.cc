#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/settings.h"
#include "cluster/tf_config.h"
#include "main/installation.h"
#include "main/options.h"

namespace capstan::cli {
namespace {

std::string resolve_text(const std::vector<std::string>& rules) {
  std::string text;
  for (const std::string& rule : rules) {
    text += (text.empty() ? "" : ",") + to_string(parse_resolve_rule(rule));
  }
  return text;
}

}  // namespace

// Becomes the interpreter: signals and the exit code need no forwarding.
int run_python(const PythonOptions& options) {
  role_from_environment();  // what is wrong with it is said before the program reads it
  Installation installation = find_installation();
  std::string python = find_python(options.python, installation);
  setenv("PYTHONPATH", python_path_for_tasks(installation).c_str(), 1);
  if (!options.resolve.empty()) setenv("CAPSTAN_RESOLVE", resolve_text(options.resolve).c_str(), 1);
  std::vector<char*> argv = {python.data()};
  for (const std::string& arg : options.args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  execvp(python.c_str(), argv.data());
  throw not_found("{}: {}; give another with --python", python, std::strerror(errno));
}

}  // namespace capstan::cli
