// The words for jobs, of this machine and of clusters.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "main/options.h"
#include "main/parse.h"

namespace capstan::cli {
namespace {

constexpr const char* kJob =
    "Its id or name, or the beginning of either; in a cluster its whole name";
constexpr const char* kPlaces =
    "A job of this machine or a TFJob of the cluster that the kubeconfig names: --local and "
    "--namespace\nsay which. Without them a TFJob comes before a job of this machine that has "
    "ended; "
    "if one of that\nname runs here too, say which is meant.\n\n";

std::string with_places(const std::string& text) { return kPlaces + text; }

void define_list(CLI::App& app, JobsOptions& options) {
  app.add_option("JOB", options.jobs, kJob);
  add_where(app, options.where);
  app.add_flag("-A,--all-namespaces", options.where.all_spaces, "Of the cluster");
  app.add_flag("--json", options.json, "One JSON object per job; the whole of one that is named");
  app.add_flag("--yaml", options.yaml, "The TFJob as the cluster has it");
}

int list_command(const char* name, const std::vector<std::string>& args) {
  CLI::App app("Lists jobs, newest first, or shows those that are named", name);
  JobsOptions options;
  define_list(app, options);
  app.footer(with_places(fmt::format("Examples:\n  {0}\n  {0} -n train\n  {0} -A --json\n", name)));
  parse_words(app, args);
  return show_jobs(options);
}

int show_command(const char* name, const std::vector<std::string>& args) {
  CLI::App app("Shows a job: its tasks, how far they are, what happened to it", name);
  JobsOptions options;
  app.add_option("JOB", options.jobs, kJob)->required()->expected(1);
  add_where(app, options.where);
  app.add_flag("--json", options.json, "The whole record, or the whole TFJob, as JSON");
  app.add_flag("--yaml", options.yaml, "The TFJob as the cluster has it");
  app.footer(with_places(fmt::format("Examples:\n  {0} mnist\n  {0} -n train mnist\n", name)));
  parse_words(app, args);
  return show_status(options);
}

JobsOptions named_jobs(CLI::App& app, const std::vector<std::string>& args,
                       const std::string& footer) {
  JobsOptions options;
  app.add_option("JOB", options.jobs, kJob)->required();
  add_where(app, options.where);
  app.footer(footer);
  parse_words(app, args);
  return options;
}

// "90", "90s", "5m", "2h".
double seconds_of(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string unit(rest, end);
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error == std::errc() && factor > 0 && number > 0 && number < 1e9) return number * factor;
  throw UsageError{fmt::format(
      "capstan wait: --timeout {}: expected seconds, or a time as in 90s, 5m or 2h", text)};
}

// "Succeeded", "condition=Succeeded", "delete".
std::string condition_of(std::string text) {
  const std::string given = text;
  if (text.starts_with("condition=")) text.erase(0, 10);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  if (text == "delete") text = "deleted";
  const std::vector<std::string> known = {"created",   "running", "restarting", "suspended",
                                          "succeeded", "failed",  "ended",      "deleted"};
  if (std::ranges::find(known, text) != known.end()) return text;
  throw UsageError{fmt::format("capstan wait: --for={}: expected one of {}{}", given,
                               fmt::join(known, ", "), did_you_mean(text, known))};
}

// "4" is of workers, "ps=2" of another type.
std::pair<std::string, int> replicas_of(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string type = equals == text.npos ? "worker" : text.substr(0, equals);
  const std::string digits = equals == text.npos ? text : text.substr(equals + 1);
  int count = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (whole && count >= 0 && count <= 100'000 && !type.empty()) return {type, count};
  throw UsageError{
      fmt::format("capstan scale: {}: expected a number of workers, or TYPE=NUMBER", text)};
}

}  // namespace

void add_where(CLI::App& app, Where& where) {
  app.add_flag("--local", where.local, "On this machine");
  app.add_option("--kubeconfig", where.cluster.path,
                 "In this cluster; else KUBECONFIG, ~/.kube/config, or the pod's own");
  app.add_option("--context", where.cluster.context, "Of the kubeconfig, if not its current one");
  app.add_option("-n,--namespace", where.cluster.space,
                 "In this namespace of the cluster; else the kubeconfig's, else default");
}

int command_jobs(const std::vector<std::string>& args) {
  return list_command("capstan jobs", args);
}
int command_get(const std::vector<std::string>& args) { return list_command("capstan get", args); }

int command_status(const std::vector<std::string>& args) {
  return show_command("capstan status", args);
}
int command_describe(const std::vector<std::string>& args) {
  return show_command("capstan describe", args);
}

int command_logs(const std::vector<std::string>& args) {
  CLI::App app("Shows what the tasks of a job printed", "capstan logs");
  LogsOptions options;
  app.add_option("JOB", options.job, kJob)->required();
  app.add_option("TASK", options.task, "Only this one, as in worker/0");
  add_where(app, options.where);
  app.add_flag("-f,--follow", options.follow, "Go on until the job has ended");
  app.add_option("--tail", options.tail, "Only so many lines of each task, the last ones");
  app.footer(with_places(
      "What a job of a cluster printed is kept on this machine when capstan deletes, stops or "
      "suspends it:\namong the jobs that have ended, 256 MiB at most.\n\n"
      "Examples:\n  capstan logs mnist worker/0\n  capstan logs -f mnist\n  capstan logs -n train "
      "--tail 20 mnist\n"));
  parse_words(app, args);
  return show_logs(options);
}

int command_wait(const std::vector<std::string>& args) {
  CLI::App app("Waits until jobs have ended, or come to another state", "capstan wait");
  WaitOptions options;
  std::string timeout;
  app.add_option("JOB", options.jobs, kJob)->required();
  add_where(app, options.where);
  app.add_option("--for", options.condition,
                 "created, running, restarting, suspended, succeeded, failed, ended or deleted")
      ->capture_default_str();
  app.add_option("--timeout", timeout, "Give up after so many seconds, or 5m, or 2h");
  app.footer(with_places(
      "The exit code is 0 if it came to that (ended: if it succeeded), 1 if it never will (a job "
      "of "
      "this\nmachine: its own code), 124 after --timeout.\n\n"
      "Examples:\n  capstan wait mnist\n  capstan wait --for=Succeeded --timeout 30m mnist\n"));
  parse_words(app, args);
  options.condition = condition_of(options.condition);
  if (!timeout.empty()) options.timeout = seconds_of(timeout);
  return wait_for_jobs(options);
}

int command_scale(const std::vector<std::string>& args) {
  CLI::App app("Changes the number of replicas of a TFJob", "capstan scale");
  ScaleOptions options;
  std::vector<std::string> replicas;
  app.add_option("JOB", options.job, "Its name")->required();
  app.add_option("REPLICAS", replicas, "Of workers, as in 4; of others, as in ps=2")->required();
  add_where(app, options.where);
  app.footer(
      "Tasks that run keep the TF_CONFIG they were started with. Jobs of this machine have as many "
      "tasks as\nthey were started with.\n\n"
      "Examples:\n  capstan scale mnist 4\n  capstan scale -n train mnist worker=4 ps=2\n");
  parse_words(app, args);
  for (const std::string& text : replicas) options.replicas.push_back(replicas_of(text));
  return scale_jobs(options);
}

int command_suspend(const std::vector<std::string>& args) {
  CLI::App app("Removes the pods of TFJobs and keeps the jobs, to be resumed", "capstan suspend");
  return suspend_jobs(named_jobs(app, args,
                                 "What they printed is kept on this machine: capstan logs.\n\n"
                                 "Example:\n  capstan suspend mnist\n"));
}

int command_resume(const std::vector<std::string>& args) {
  CLI::App app("Lets TFJobs that were suspended go on", "capstan resume");
  return resume_jobs(named_jobs(app, args, "Example:\n  capstan resume mnist\n"));
}

int command_stop(const std::vector<std::string>& args) {
  CLI::App app("Stops jobs in order, and waits until nothing of them is left", "capstan stop");
  return stop_jobs(named_jobs(
      app, args,
      with_places("A TFJob is suspended: capstan resume goes on, capstan delete removes it.\n\n"
                  "Example:\n  capstan stop mnist\n")));
}

int command_rm(const std::vector<std::string>& args) {
  CLI::App app("Forgets jobs that have ended: their records, and logs that we keep", "capstan rm");
  JobsOptions options{.where = {.local = true}};
  app.add_option("JOB", options.jobs, "Its id or name, or the beginning of either")->required();
  app.footer(
      "Only what is on this machine goes, also of a job of a cluster; capstan delete removes one "
      "there.\n\nExample:\n  capstan rm mnist\n");
  parse_words(app, args);
  return remove_jobs(options);
}

int command_delete(const std::vector<std::string>& args) {
  CLI::App app("Stops jobs and removes them", "capstan delete");
  DeleteOptions options;
  bool no_logs = false, no_wait = false;
  app.add_option("JOB", options.jobs, kJob)->required();
  add_where(app, options.where);
  app.add_flag("--no-logs", no_logs, "Do not keep what a TFJob printed");
  app.add_flag("--no-wait", no_wait, "Do not wait until the pods of a TFJob are gone");
  app.footer(with_places(
      "What the replicas of a TFJob printed is kept on this machine: capstan logs shows it, "
      "capstan "
      "rm\nforgets it. A job of this machine goes with its logs.\n\n"
      "Examples:\n  capstan delete mnist\n  capstan delete -n train --no-logs mnist\n"));
  parse_words(app, args);
  options.keep_logs = !no_logs;
  options.wait = !no_wait;
  return delete_jobs(options);
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
