// `capstan completion SHELL`, and what its scripts ask: `capstan complete -- WORDS`.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "jobs/job_shelf.h"
#include "main/options.h"

namespace capstan::cli {
namespace {

constexpr const char* kBash = R"sh(_capstan() {
  local IFS=$'\n'
  COMPREPLY=($(capstan complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _capstan capstan
)sh";

// As a file of fpath it is first run when somebody completes, and has to answer then.
constexpr const char* kZsh = R"sh(#compdef capstan
_capstan() {
  local -a found
  found=(${(f)"$(capstan complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ${#found} )); then compadd -a found; else _files; fi
}
if [[ $funcstack[1] == _capstan ]]; then _capstan "$@"; else compdef _capstan capstan; fi
)sh";

constexpr const char* kFish = R"sh(function __capstan_complete
  set -l found (capstan complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c capstan -f -a '(__capstan_complete)'
)sh";

bool is_plain(const std::string& name) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.find_first_not_of(kPlain) == std::string::npos;
}

// Names where they are fit for a command line, and ids.
std::vector<std::string> job_words(const std::string& command) {
  std::vector<std::string> words;
  for (const jobs::ShelvedJob& job : jobs::users_shelf().list()) {
    if ((command == "stop" && !job.alive) || (command == "rm" && job.alive)) continue;
    if (job.record && is_plain(job.record->name)) words.push_back(job.record->name);
    words.push_back(job.id);
  }
  return words;
}

std::vector<std::string> task_words(const std::string& job) {
  std::vector<std::string> words;
  const jobs::ShelvedJob found = jobs::users_shelf().find(job);
  if (!found.record) return words;
  for (const jobs::TaskReport& task : found.record->state.tasks) words.push_back(task.task.name());
  return words;
}

// `words`: what stands between the command and the one that is being typed.
std::vector<std::string> jobs_and_tasks(const std::string& command,
                                        const std::vector<std::string>& words) {
  std::vector<std::string> given;
  for (const std::string& word : words) {
    if (!word.starts_with("-")) given.push_back(word);
  }
  constexpr std::array kWithMany = {"stop", "rm", "delete", "wait", "get", "jobs"};
  const bool many = std::ranges::find(kWithMany, command) != kWithMany.end();
  if (given.empty() || many) return job_words(command);
  return command == "logs" && given.size() == 1 ? task_words(given[0]) : std::vector<std::string>();
}

}  // namespace

int print_completion(const std::string& shell) {
  const char* script = shell == "bash"   ? kBash
                       : shell == "zsh"  ? kZsh
                       : shell == "fish" ? kFish
                                         : nullptr;
  if (!script) throw invalid_argument("{}: expected bash, zsh or fish", shell);
  fmt::print("{}", script);
  return 0;
}

std::vector<std::string> words_for(const std::vector<std::string>& words) {
  if (words.size() < 2) return {};
  const std::string& command = words[0];
  if (command == "completion") return {"bash", "zsh", "fish"};
  constexpr std::array kWithJobs = {"status", "describe", "get",    "jobs", "logs",
                                    "wait",   "stop",     "delete", "rm"};
  if (std::ranges::find(kWithJobs, command) == kWithJobs.end()) return {};
  try {
    return jobs_and_tasks(command, {words.begin() + 1, words.end() - 1});
  } catch (const Error&) {  // whatever it is, somebody types: it is no time for messages
    return {};
  }
}

}  // namespace capstan::cli
