#include "main/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/version.h"
#include "jobs/report.h"
#include "main/options.h"

namespace capstan::cli {
namespace {

const std::vector<std::string> kCommands = {"run",  "python", "server", "doctor",
                                            "test", "bench",  "fuzz"};

constexpr const char* kHelp = R"(capstan: parameter-server training, with no TensorFlow installed

  capstan run --ps 2 --workers 2 train.py   a whole cluster on this machine
  capstan python train.py --job_name=ps …   one task of a cluster, started by hand
  capstan server --cluster JSON --job ps --task 0
                                            a parameter server without Python
  capstan doctor                            checks this machine
  capstan --version | --help | <command> --help

In the repository, ./capstan also has:
  ./capstan test [--preset asan|tsan] [pattern]
  ./capstan bench local|cluster|memory [--json]
  ./capstan fuzz [target] [seconds]

Exit codes: 0 all well, 1 failure, 2 wrong usage, 124 timeout, 128+n stopped by signal n, else
that of the task that failed first.
)";

struct UsageError {
  std::string message;
};

[[noreturn]] void throw_unknown(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  throw UsageError{fmt::format("{}: unknown option {}{}", app.get_name(), word,
                               did_you_mean(word.substr(0, word.find('=')), known))};
}

// Parses the options before the program; what follows it belongs to the program.
std::vector<std::string> parse_prefix(CLI::App& app, std::vector<std::string> args) {
  app.prefix_command();
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    app.parse(args);
  } catch (const CLI::CallForHelp&) {
    std::string text = app.help();
    // CLI11 shows what "--chief" without a value stands for; the description says it better.
    if (size_t at = text.find("--chief{chief}"); at != text.npos)
      text.replace(at, 14, "--chief[=NAME]");
    fmt::print("{}", text);
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

std::pair<std::string, std::string> env_entry(const std::string& text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw UsageError{"capstan run: --env " + text + ": expected NAME=VALUE"};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

struct RunFlags {
  int ps = 0, workers = 0;
  std::string chief;
  bool evaluator = false;
  double timeout = 0;
  std::vector<std::string> env;
};

void define_run(CLI::App& app, RunFlags& flags, RunOptions& options) {
  app.add_option("--ps", flags.ps, "Number of parameter servers");
  app.add_option("--workers", flags.workers, "Number of workers");
  app.add_flag("--chief{chief}", flags.chief, "One chief beside them; --chief=master names it so");
  app.add_flag("--evaluator", flags.evaluator, "One evaluator beside them");
  app.add_option("--timeout", flags.timeout, "Stop the job after so many seconds (exit code 124)");
  app.add_option("--max-steps", options.job.max_steps, "Stop training at this global step");
  app.add_option("--env", flags.env, "NAME=VALUE for every task; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--resolve", options.job.resolve,
                 "name[:port]=address[:port] for hosts written into a program; the right side may "
                 "be a task, as in pc-01:2222=ps/0; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--log-dir", options.log_dir, "Keep each task's log there");
  app.add_flag("--json", options.json, "Events as JSON lines instead of text");
  app.add_option("--python", options.python, "Interpreter for a script");
  app.footer(
      "The program follows the options; what follows it are its arguments, in which {ps_hosts},\n"
      "{worker_hosts}, {chief_hosts}, {master_hosts}, {job_name} and {task_index} are replaced.\n\n"
      "Examples:\n"
      "  capstan run --ps 2 --workers 4 train.py --learning_rate=0.1\n"
      "  capstan run --ps 1 --workers 2 --chief=master --env MODEL_DIR=/tmp/m train.py\n"
      "  capstan run --ps 1 --workers 2 train.py --hosts {ps_hosts} --role {job_name}\n"
      "  capstan run --ps 1 --workers 3 --resolve pc-01=127.0.0.1 … example.py\n"
      "  capstan run --ps 2 --workers 2 ./mnist\n");
}

int command_run(const std::vector<std::string>& args) {
  CLI::App app("Runs a whole cluster on this machine", "capstan run");
  RunFlags flags;
  RunOptions options;
  define_run(app, flags, options);
  std::vector<std::string> program = parse_prefix(app, args);
  if (program.empty()) throw UsageError{"capstan run: which program? capstan run --help"};
  jobs::JobSpec& job = options.job;
  auto add = [&](const char* option, const std::string& name, int count) {
    if (app.count(option) > 0 && count != 0) job.groups.push_back({name, count});
  };
  add("--ps", "ps", flags.ps);
  if (!flags.chief.empty() && flags.chief != "chief" && flags.chief != "master")
    throw UsageError{fmt::format("capstan run: --chief={}: expected chief or master", flags.chief)};
  add("--chief", flags.chief, 1);
  add("--workers", "worker", flags.workers);
  add("--evaluator", "evaluator", 1);
  if (app.count("--timeout") > 0) job.timeout_seconds = flags.timeout;
  for (const std::string& entry : flags.env) job.env.push_back(env_entry(entry));
  job.program.path = program[0];
  job.program.args.assign(program.begin() + 1, program.end());
  return run_job(options);
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

int dispatch(const std::string& command, const std::vector<std::string>& args) {
  if (command == "run") return command_run(args);
  if (command == "python") return command_python(args);
  if (command == "server") return command_server(args);
  if (command == "doctor") return command_doctor(args);
  if (command == "--version") return fmt::print("capstan {}\n", version()), 0;
  if (command == "--help" || command == "-h" || command == "help") return fmt::print(kHelp), 0;
  if (command == "test" || command == "bench" || command == "fuzz") {
    throw UsageError{"capstan " + command + " belongs to the repository: run ./capstan " + command +
                     " there"};
  }
  throw UsageError{fmt::format("capstan: unknown {} {} (see capstan --help){}",
                               command.starts_with("-") ? "option" : "command", command,
                               did_you_mean(command, kCommands))};
}

}  // namespace

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
    fmt::print(stderr, "capstan {}: {}\n", argv[1], e.what());
  } catch (const UsageError& e) {
    fmt::print(stderr, "{}\n", e.message);
  } catch (const Error& e) {
    fmt::print(stderr, "capstan {}: {}\n", argv[1], e.message());
    bool usage = e.code() == Code::kInvalidArgument || e.code() == Code::kNotFound;
    return usage ? jobs::kExitUsage : jobs::kExitFailure;
  } catch (const std::exception& e) {
    fmt::print(stderr, "capstan {}: {}\n", argv[1], e.what());
    return jobs::kExitFailure;
  }
  return jobs::kExitUsage;
}

}  // namespace capstan::cli
