#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/fd.h"
#include "jobs/json_lines.h"
#include "jobs/json_text.h"
#include "jobs/local/detached_job.h"
#include "jobs/local/local_job.h"
#include "jobs/local/pipes.h"
#include "jobs/observers.h"
#include "jobs/output_queue.h"
#include "jobs/terminal.h"
#include "main/installation.h"
#include "main/options.h"

namespace capstan::cli {
namespace {

void check_program(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw invalid_argument("{} is a folder; give a script or an executable", path);
  }
  if (path.ends_with(".py") && access(path.c_str(), R_OK) != 0) {
    throw not_found("{}: {}", path, std::strerror(errno));
  }
}

// An executable beside us is meant by its bare name, as a script would be.
std::string program_path(const std::string& path) {
  bool bare = path.find('/') == std::string::npos && !path.ends_with(".py");
  return bare && access(path.c_str(), X_OK) == 0 ? "./" + path : path;
}

jobs::JobSpec complete(const RunOptions& options) {
  jobs::JobSpec job = options.job;
  check_program(job.program.path);
  job.program.path = program_path(job.program.path);
  if (job.program.is_python()) {
    Installation installation = find_installation();
    job.program.python = find_python(options.python, installation);
    job.program.python_path = python_path_for_tasks(installation);
  }
  return job;
}

// A job that was stopped does not wait for ever for somebody to read why.
constexpr auto kPatience = std::chrono::seconds(5);

void flush(jobs::OutputQueue& output, const jobs::JobReport& report, int interrupt) {
  const bool stopped = report.exit_code != 0 && !report.cause;
  output.flush(interrupt,
               stopped ? std::optional<std::chrono::milliseconds>(kPatience) : std::nullopt);
}

std::vector<jobs::JobObserver*> all_of(jobs::JobObserver& first, jobs::JobObserver* also) {
  return also ? std::vector{&first, also} : std::vector{&first};
}

void say_last_words(const LocalRun& how, const jobs::JobReport& report, jobs::OutputQueue& output) {
  if (how.last_words) output.write(STDOUT_FILENO, how.last_words(report));
}

int run_shown(const jobs::JobSpec& spec, jobs::LocalOptions options, const LocalRun& how) {
  bool tty = isatty(STDOUT_FILENO);
  jobs::TerminalOptions look{.live = tty, .colour = tty && !std::getenv("NO_COLOR")};
  look.quiet = how.quiet;
  const int signals = options.signal_fd;
  jobs::PollLoop loop;
  jobs::OutputQueue output(loop);
  jobs::Terminal terminal(look, output);
  jobs::Observers observers(all_of(terminal, how.also));
  options.tick = [&] { terminal.tick(); };
  options.output = &output;
  jobs::JobReport report = jobs::LocalJob(loop, spec, std::move(options), observers).run();
  terminal.finish(report);
  say_last_words(how, report, output);
  flush(output, report, signals);
  return report.exit_code;
}

int run_as_json(const jobs::JobSpec& spec, jobs::LocalOptions options, const LocalRun& how) {
  const int signals = options.signal_fd;
  jobs::PollLoop loop;
  jobs::OutputQueue output(loop);
  jobs::JsonLines lines(
      [&](std::string_view line) { output.write(STDOUT_FILENO, std::string(line) + "\n"); },
      [&] { return output.full(); });
  jobs::Observers observers(all_of(lines, how.also));
  options.output = &output;
  jobs::JobReport report = jobs::LocalJob(loop, spec, std::move(options), observers).run();
  lines.finish(report);
  say_last_words(how, report, output);
  flush(output, report, signals);
  return report.exit_code;
}

// The id alone, for scripts; the rest for people.
int run_in_background(const jobs::JobSpec& job, const LocalRun& how) {
  const std::string id = jobs::run_detached(job, {.log_dir = how.log_dir});
  if (const std::string note = jobs::memory_note(job); !note.empty()) {
    fmt::print(stderr, "{}\n", note);
  }
  if (how.json) {
    fmt::print("{}\n", jobs::JsonObject().add("event", "detached").add("id", id).text());
    return 0;
  }
  fmt::print("{}\n", id);
  fmt::print(stderr,
             "the job runs in the background: capstan status {0} | logs -f {0} | stop {0}\n", id);
  return 0;
}

}  // namespace

int run_here(const jobs::JobSpec& job, const LocalRun& how) {
  if (how.detach) return run_in_background(job, how);
  Fd signals = jobs::signals_as_fd({SIGINT, SIGTERM, SIGHUP});
  jobs::LocalOptions local{.log_dir = how.log_dir, .signal_fd = signals.get()};
  return how.json ? run_as_json(job, std::move(local), how) : run_shown(job, std::move(local), how);
}

int run_job(const RunOptions& options) {
  return run_here(complete(options), {.log_dir = options.log_dir,
                                      .json = options.json,
                                      .quiet = options.quiet,
                                      .detach = options.detach});
}

}  // namespace capstan::cli
