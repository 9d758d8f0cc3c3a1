#include <fmt/format.h>

#include "main/options.h"
#include "main/parse.h"

namespace capstan::cli {
namespace {

struct RunFlags {
  int ps = 0, workers = 0;
  std::string chief;
  bool evaluator = false;
  double timeout = 0;
  std::vector<std::string> env, memory;
  std::string secret_by = "descriptor";
};

jobs::SecretBy secret_by(const std::string& text) {
  if (text == "file") return jobs::SecretBy::kFile;
  if (text == "descriptor") return jobs::SecretBy::kDescriptor;
  throw UsageError{fmt::format("capstan run: --secret-by {}: expected descriptor or file", text)};
}

void define_run(CLI::App& app, RunFlags& flags, RunOptions& options) {
  app.add_option("--ps", flags.ps, "Number of parameter servers")->capture_default_str();
  app.add_option("--workers", flags.workers, "Number of workers")->capture_default_str();
  app.add_flag("--chief{chief}", flags.chief, "One chief beside them; --chief=master names it so");
  app.add_flag("--evaluator", flags.evaluator, "One evaluator beside them");
  app.add_option("--restart", options.job.restarts,
                 "How many failures of tasks are followed by another try, in the whole job; one by "
                 "an own error only if it got further than before, or came for the first time")
      ->capture_default_str();
  app.add_option("--name", options.job.name, "What capstan jobs calls it; else the program's name");
  app.add_option("--timeout", flags.timeout, "Stop the job after so many seconds (exit code 124)");
  app.add_option("--max-steps", options.job.max_steps,
                 "Stop training at this global step; 0: no limit")
      ->capture_default_str();
  app.add_option("--memory", flags.memory,
                 "End a task that has more, as in 2G for every task or ps=4G,worker=512M; may be "
                 "repeated")
      ->allow_extra_args(false);
  app.add_option("--env", flags.env, "NAME=VALUE for every task; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--resolve", options.job.resolve,
                 "name[:port]=address[:port] for hosts written into a program; the right side may "
                 "be a task, as in pc-01:2222=ps/0; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--secret-by", flags.secret_by,
                 "How tasks get the job's secret: behind a descriptor, or by a file that only you "
                 "can read, for programs that close what they inherit")
      ->capture_default_str();
  app.add_option("--log-dir", options.log_dir, "Keep each task's log there");
  app.add_flag("--detach", options.detach,
               "Leave the job in the background and print its id; capstan status shows it");
  app.add_flag("--quiet", options.quiet, "Show failures and the table, not what tasks print");
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
      "  capstan run --ps 1 --workers 2 --memory ps=4G,worker=2G --restart 3 train.py\n"
      "  capstan run --ps 2 --workers 2 ./mnist\n");
}

}  // namespace

std::pair<std::string, std::string> env_entry(const CLI::App& app, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw UsageError{fmt::format("{}: --env {}: expected NAME=VALUE", app.get_name(), text)};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
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
  for (const std::string& entry : flags.env) job.env.push_back(env_entry(app, entry));
  for (const std::string& text : flags.memory) {
    for (jobs::MemoryRule& rule : jobs::parse_memory_rules(text)) job.memory.push_back(rule);
  }
  job.secret = secret_by(flags.secret_by);
  job.program.path = program[0];
  job.program.args.assign(program.begin() + 1, program.end());
  return run_job(options);
}

}  // namespace capstan::cli
