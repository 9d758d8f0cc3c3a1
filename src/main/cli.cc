#include "main/cli.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "base/version.h"
#include "jobs/report.h"
#include "main/options.h"
#include "main/parse.h"

namespace capstan::cli {
namespace {

const std::vector<std::string> kUserCommands = {
    "run", "sql",    "apply",    "validate", "python", "server",     "jobs",
    "get", "status", "describe", "logs",     "wait",   "stop",       "delete",
    "rm",  "scale",  "suspend",  "resume",   "doctor", "completion", "operator"};
const std::vector<std::string> kRepositoryCommands = {"test", "bench", "fuzz"};

std::vector<std::string> all_commands() {
  std::vector<std::string> all = kUserCommands;
  all.insert(all.end(), kRepositoryCommands.begin(), kRepositoryCommands.end());
  return all;
}

constexpr const char* kHelp = R"(capstan: parameter-server training, with no TensorFlow installed

  capstan run --ps 2 --workers 2 train.py   a whole cluster on this machine
  capstan sql job.mlsql                     a script that prepares data, trains and predicts
  capstan apply tfjob.yaml                  a TFJob in a Kubernetes cluster
  capstan apply --local tfjob.yaml          the same file as processes of this machine
  capstan validate tfjob.yaml               checks one, and shows what becomes of it
  capstan python train.py --job_name=ps …   one task of a cluster, started by hand
  capstan server --cluster JSON --job ps --task 0
                                            a parameter server without Python
  capstan operator                          makes the pods of a cluster's TFJobs
  capstan jobs | get                        jobs of this machine and of the cluster, running and ended
  capstan status JOB | describe JOB | logs [-f] JOB [TASK] | wait JOB | stop JOB | delete JOB | rm JOB
  capstan scale JOB 4 | suspend JOB | resume JOB
  capstan doctor                            checks this machine
  capstan completion bash|zsh|fish          what a shell needs to complete all this
  capstan --version | --help | <command> --help

In the repository, ./capstan also has:
  ./capstan test [--preset asan|tsan] [pattern]
  ./capstan bench local|cluster|memory [--json]
  ./capstan fuzz [target] [seconds]

Exit codes: 0 all well, 1 failure, 2 wrong usage, 124 timeout, 128+n stopped by signal n, else
that of the task that failed first.
)";

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  return known;
}

void list_options_if_asked(const CLI::App& app, const std::vector<std::string>& args) {
  if (args != std::vector<std::string>{kListOptions}) return;
  for (const std::string& option : options_of(app)) fmt::print("{}\n", option);
  throw CLI::CallForHelp();
}

[[noreturn]] void throw_unknown(const CLI::App& app, const std::string& word) {
  throw UsageError{fmt::format("{}: unknown option {}{}", app.get_name(), word,
                               did_you_mean(word.substr(0, word.find('=')), options_of(app)))};
}

// CLI11 leaves the program out of its first line, and shows what "--chief" without a value stands
// for; the description says it better.
std::string help_text(const CLI::App& app) {
  std::string text = app.help();
  auto replace = [&](std::string_view from, std::string_view to) {
    if (size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  };
  replace("--chief{chief}", "--chief[=NAME]");
  if (app.get_name() == "capstan run") replace("[OPTIONS]", "[OPTIONS] PROGRAM [ARGUMENTS]...");
  if (app.get_name() == "capstan python") replace("[OPTIONS]", "[OPTIONS] SCRIPT [ARGUMENTS]...");
  return text;
}

int command_python(const std::vector<std::string>& args) {
  CLI::App app("Runs a script so that `import tensorflow` finds Capstan", "capstan python");
  PythonOptions options;
  app.add_option("--python", options.python,
                 "The interpreter; else the active virtual environment's, else Capstan's own");
  app.add_option("--resolve", options.resolve,
                 "name[:port]=address[:port] for hosts written into a program; may be repeated")
      ->allow_extra_args(false);
  app.footer(
      "Examples:\n"
      "  capstan python train.py --job_name=worker --task_index=0\n"
      "  capstan python --resolve pc-01=127.0.0.1 example.py --job_name=ps\n"
      "  capstan python -c 'import tensorflow as tf; print(tf.__version__)'\n");
  options.args = parse_prefix(app, args);
  return run_python(options);
}

int command_server(const std::vector<std::string>& args) {
  CLI::App app("Runs one task of a cluster without Python", "capstan server");
  ServerOptions options;
  app.add_option("--cluster", options.cluster, "JSON: job name to list of host:port")->required();
  app.add_option("--job", options.job, "The job of this task")->required();
  app.add_option("--task", options.task, "The index of this task in its job")->required();
  app.footer(
      "Ends with code 0 when every worker and chief of the cluster has joined and left.\n\n"
      "Example:\n"
      "  capstan server --cluster '{\"ps\": [\"127.0.0.1:2222\"], \"worker\": "
      "[\"127.0.0.1:2223\"]}' --job ps --task 0\n");
  parse_all(app, args);
  return run_server(options);
}

int command_doctor(const std::vector<std::string>& args) {
  CLI::App app("Checks ports, memory, limits, clock, disk and versions", "capstan doctor");
  DoctorOptions options;
  app.add_option("--python", options.python, "The interpreter to look at");
  app.add_flag("--json", options.json, "One JSON object per check");
  app.footer(
      "Examples:\n"
      "  capstan doctor\n"
      "  capstan doctor --python ~/venv/bin/python --json\n");
  parse_all(app, args);
  return run_doctor(options);
}

int dispatch(const std::string& command, const std::vector<std::string>& args);

void print_beginning_with(const std::string& begin, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.starts_with(begin)) fmt::print("{}\n", word);
  }
}

// For the scripts of `capstan completion`: the words typed so far, the last one perhaps in part.
int command_complete(std::vector<std::string> words) {
  if (!words.empty() && words[0] == "--") words.erase(words.begin());
  if (words.empty()) return 0;
  const std::string begin = words.back();
  const bool known = std::ranges::find(kUserCommands, words[0]) != kUserCommands.end();
  if (words.size() == 1) {
    print_beginning_with(begin, kUserCommands);
  } else if (known && begin.starts_with("-")) {
    // A shell cuts them to what was typed.
    return dispatch(words[0], {kListOptions});
  } else {
    print_beginning_with(begin, words_for(words));
  }
  return 0;
}

int dispatch(const std::string& command, const std::vector<std::string>& args) {
  if (command == "run") return command_run(args);
  if (command == "sql") return command_sql(args);
  if (command == "operator") return command_operator(args);
  if (command == "apply") return command_apply(args);
  if (command == "validate") return command_validate(args);
  if (command == "jobs") return command_jobs(args);
  if (command == "get") return command_get(args);
  if (command == "status") return command_status(args);
  if (command == "describe") return command_describe(args);
  if (command == "logs") return command_logs(args);
  if (command == "stop") return command_stop(args);
  if (command == "rm") return command_rm(args);
  if (command == "wait") return command_wait(args);
  if (command == "delete") return command_delete(args);
  if (command == "scale") return command_scale(args);
  if (command == "suspend") return command_suspend(args);
  if (command == "resume") return command_resume(args);
  if (command == "completion") return command_completion(args);
  if (command == "complete") return command_complete(args);
  if (command == "python") return command_python(args);
  if (command == "server") return command_server(args);
  if (command == "doctor") return command_doctor(args);
  if (command == "--version") return fmt::print("capstan {}\n", version()), 0;
  if (command == "--help" || command == "-h" || command == "help") return fmt::print(kHelp), 0;
  if (std::ranges::find(kRepositoryCommands, command) != kRepositoryCommands.end()) {
    throw UsageError{"capstan " + command + " belongs to the repository: run ./capstan " + command +
                     " there"};
  }
  throw UsageError{fmt::format("capstan: unknown {} {} (see capstan --help){}",
                               command.starts_with("-") ? "option" : "command", command,
                               did_you_mean(command, all_commands()))};
}

}  // namespace

std::vector<std::string> parse_prefix(CLI::App& app, std::vector<std::string> args) {
  list_options_if_asked(app, args);
  app.prefix_command();
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    app.parse(args);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_text(app));
    throw;
  }
  std::vector<std::string> rest = app.remaining();
  if (!rest.empty() && rest[0] == "--") {
    rest.erase(rest.begin());
  } else if (!rest.empty() &&
             rest[0].starts_with(app.get_name() == "capstan python" ? "--" : "-")) {
    throw_unknown(app, rest[0]);
  }
  return rest;
}

void parse_all(CLI::App& app, const std::vector<std::string>& args) {
  std::vector<std::string> rest = parse_prefix(app, args);
  if (!rest.empty()) throw UsageError{fmt::format("{}: unexpected {}", app.get_name(), rest[0])};
}

void parse_words(CLI::App& app, std::vector<std::string> args) {
  list_options_if_asked(app, args);
  app.allow_extras();
  std::reverse(args.begin(), args.end());
  try {
    app.parse(args);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_text(app));
    throw;
  }
  for (const std::string& word : app.remaining()) {
    if (word.starts_with("-")) throw_unknown(app, word);
    throw UsageError{fmt::format("{}: unexpected {}", app.get_name(), word)};
  }
}

// fmt::print throws where nothing can be written, and nobody would be left to catch it.
static void complain(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

int run_command_line(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "{}", kHelp);
    return jobs::kExitUsage;
  }
  try {
    return dispatch(argv[1], {argv + 2, argv + argc});
  } catch (const CLI::CallForHelp&) {
    return 0;
  } catch (const CLI::ParseError& e) {
    complain(fmt::format("capstan {}: {}", printable(argv[1]), printable(e.what())));
  } catch (const UsageError& e) {
    complain(printable(e.message));
  } catch (const Error& e) {
    complain(fmt::format("capstan {}: {}", printable(argv[1]), printable(e.message())));
    bool usage = e.code() == Code::kInvalidArgument || e.code() == Code::kNotFound;
    return usage ? jobs::kExitUsage : jobs::kExitFailure;
  } catch (const std::exception& e) {
    complain(fmt::format("capstan {}: {}", printable(argv[1]), printable(e.what())));
    return jobs::kExitFailure;
  }
  return jobs::kExitUsage;
}

}  // namespace capstan::cli
