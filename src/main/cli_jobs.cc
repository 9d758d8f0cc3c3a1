#include "main/options.h"
#include "main/parse.h"

namespace capstan::cli {
namespace {

constexpr const char* kJob = "Its id or name, or the beginning of either";

}  // namespace

int command_jobs(const std::vector<std::string>& args) {
  CLI::App app("Lists the jobs of this machine, newest first", "capstan jobs");
  JobsOptions options;
  app.add_flag("--json", options.json, "One JSON object per job");
  app.footer("Example:\n  capstan jobs\n");
  parse_words(app, args);
  return show_jobs(options);
}

int command_status(const std::vector<std::string>& args) {
  CLI::App app("Shows a job: its tasks, how far they are, the curve of the loss", "capstan status");
  JobsOptions options;
  app.add_option("JOB", options.jobs, kJob)->required()->expected(1);
  app.add_flag("--json", options.json, "The whole record as JSON");
  app.footer("Example:\n  capstan status mnist\n");
  parse_words(app, args);
  return show_status(options);
}

int command_logs(const std::vector<std::string>& args) {
  CLI::App app("Shows what the tasks of a job printed", "capstan logs");
  LogsOptions options;
  app.add_option("JOB", options.job, kJob)->required();
  app.add_option("TASK", options.task, "Only this one, as in worker/0");
  app.add_flag("-f,--follow", options.follow, "Go on until the job has ended");
  app.footer("Examples:\n  capstan logs mnist worker/0\n  capstan logs -f mnist\n");
  parse_words(app, args);
  return show_logs(options);
}

int command_stop(const std::vector<std::string>& args) {
  CLI::App app("Stops jobs in order, and waits until nothing of them is left", "capstan stop");
  JobsOptions options;
  app.add_option("JOB", options.jobs, kJob)->required();
  app.footer("Example:\n  capstan stop mnist\n");
  parse_words(app, args);
  return stop_jobs(options);
}

int command_rm(const std::vector<std::string>& args) {
  CLI::App app("Forgets jobs that have ended: their records, and logs that we keep", "capstan rm");
  JobsOptions options;
  app.add_option("JOB", options.jobs, kJob)->required();
  app.footer("Example:\n  capstan rm mnist\n");
  parse_words(app, args);
  return remove_jobs(options);
}

int command_completion(const std::vector<std::string>& args) {
  CLI::App app("Prints what a shell needs to complete commands, options, jobs and tasks",
               "capstan completion");
  std::string shell;
  app.add_option("SHELL", shell, "bash, zsh or fish")->required();
  app.footer(
      "Examples:\n"
      "  source <(capstan completion bash)\n"
      "  capstan completion zsh > ~/.zfunc/_capstan\n"
      "  capstan completion fish > ~/.config/fish/completions/capstan.fish\n");
  parse_words(app, args);
  return print_completion(shell);
}

}  // namespace capstan::cli
