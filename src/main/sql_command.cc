#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "jobs/duck/duck.h"
#include "jobs/local/keeper.h"
#include "jobs/local/local_runner.h"
#include "jobs/local/pipes.h"
#include "jobs/random_hex.h"
#include "jobs/script/interpreter.h"
#include "jobs/script/parser.h"
#include "main/installation.h"
#include "main/options.h"
#include "main/script_terminal.h"

namespace capstan::cli {
namespace {

constexpr int kPatience = 10'000;  // milliseconds, for a script that was told to stop

// The first signal stops the script in order; a second one, or no end in time, ends the process,
// and its tasks with it.
class SignalWatch {
 public:
  SignalWatch(int signals, script::Session& session)
      : done_(eventfd(0, EFD_CLOEXEC)),
        thread_([this, signals, &session] { watch(signals, session); }) {}
  ~SignalWatch() {
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t n = write(done_.get(), &one, sizeof one);
    thread_.join();
  }
  int signal() const { return signal_; }  // 0: none came

 private:
  void watch(int signals, script::Session& session) {
    pollfd fds[2] = {{signals, POLLIN, 0}, {done_.get(), POLLIN, 0}};
    for (;;) {
      const int ready = poll(fds, 2, signal_ ? kPatience : -1);
      if (ready < 0) continue;
      if (fds[1].revents) return;
      if (ready == 0) _exit(jobs::kExitSignalBase + signal_);
      signalfd_siginfo info{};
      if (read(signals, &info, sizeof info) != sizeof info) continue;
      if (signal_) _exit(jobs::kExitSignalBase + int(info.ssi_signo));
      signal_ = int(info.ssi_signo);
      session.stop();
    }
  }

  Fd done_;
  std::atomic<int> signal_ = 0;
  std::thread thread_;
};

std::string user_name() {
  const passwd* user = getpwuid(getuid());
  return user ? user->pw_name : std::to_string(getuid());
}

// No more than shows that a script is too long: what is read may have no end.
std::string begin_of(std::istream& in) {
  std::string text(script::kLongestScript + 1, '\0');
  in.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(in.gcount()));
  return text;
}

bool is_bounded(const std::string& file) {
  std::error_code error;
  return !std::filesystem::exists(file, error) || std::filesystem::is_directory(file, error) ||
         std::filesystem::file_size(file, error) <= script::kLongestScript;
}

script::Source source_of(const SqlOptions& options) {
  if (options.file.empty()) return {"-e", options.text};
  if (options.file == "-") return {"standard input", begin_of(std::cin)};
  if (is_bounded(options.file)) return {options.file, posix_files().read(options.file)};
  std::ifstream in(options.file, std::ios::binary);
  return {options.file, begin_of(in)};
}

// Where relative paths and `include` start.
std::string home_of(const SqlOptions& options) {
  const bool has_file = !options.file.empty() && options.file != "-";
  return std::filesystem::absolute(has_file ? dir_of(options.file) : ".").lexically_normal();
}

std::string root_of(const SqlOptions& options) {
  if (options.root.empty()) return "";
  if (!std::filesystem::is_directory(options.root)) {
    throw not_found("--root {}: no such folder", options.root);
  }
  return std::filesystem::canonical(options.root);
}

int exit_code_of(const Error& error) {
  if (error.code() == Code::kDeadlineExceeded) return jobs::kExitTimeout;
  if (error.code() == Code::kCancelled) return jobs::kExitSignalBase + SIGTERM;
  return jobs::kExitFailure;
}

// The script was stopped only because nobody takes what it says.
bool is_of_lost_output(const Error& error, const ScriptTerminal& terminal) {
  const int trouble = terminal.result_trouble();
  return trouble == EPIPE || (trouble && error.code() == Code::kCancelled);
}

// A reader that leaves has seen enough; a disk that is full has not. Returns the exit code, or 0.
int tell_lost_output(ScriptTerminal& terminal) {
  const int result = terminal.result_trouble(), words = terminal.words_trouble();
  if (result == EPIPE || words == EPIPE) return jobs::kExitSignalBase + SIGPIPE;
  if (result) {
    terminal.failed(
        fmt::format("capstan sql: the result is not whole: cannot write standard output: {}",
                    std::strerror(result)));
  }
  return result || words ? jobs::kExitFailure : 0;
}

int run_in(script::Session& session, const SqlOptions& options, script::Source source,
           const SignalWatch& watch, ScriptTerminal& terminal) {
  const script::RunOptions all{.result_rows = options.output == "table" ? 5000 : -1};
  int code = 0;
  try {
    run_script(session, std::move(source), all);
  } catch (const Error& error) {
    if (!is_of_lost_output(error, terminal)) terminal.failed(error.message());
    code = exit_code_of(error);
  }
  terminal.clear();
  if (watch.signal()) return jobs::kExitSignalBase + watch.signal();
  const int lost = tell_lost_output(terminal);
  return lost ? lost : code;
}

// Of all that the script starts, trainings or commands of the shell: an entry of their environment.
std::string mark_processes() {
  constexpr const char* kName = "CAPSTAN_SCRIPT_ID";
  const std::string id = jobs::random_hex(16);
  setenv(kName, id.c_str(), 1);
  return fmt::format("{}={}", kName, id);
}

jobs::LocalRunnerOptions runner_options(const SqlOptions& options) {
  const Installation installation = find_installation();
  return {
      .python = find_python(options.python, installation),
      .python_path = installation.python_path.empty() ? "" : python_path_for_tasks(installation)};
}

}  // namespace

int run_sql(const SqlOptions& options) {
  const Fd signals = jobs::signals_as_fd({SIGINT, SIGTERM, SIGHUP});
  script::Source source = source_of(options);
  script::Session* running = nullptr;
  ScriptTerminal terminal({options.output, options.quiet}, [&] {
    if (running) running->stop();
  });
  jobs::Keeper keeper(mark_processes(), [] {});
  jobs::LocalRunner runner(runner_options(options));
  const std::unique_ptr<script::Engine> engine = duck::duck_engine({.keeper = &keeper});
  script::Session session(*engine, runner, script::Paths(home_of(options), root_of(options)),
                          terminal);
  running = &session;
  session.keeper = &keeper;
  session.owner = user_name();
  session.allow_shell = options.allow_shell;
  for (const auto& [name, value] : options.variables) session.variables[name] = {.text = value};
  const SignalWatch watch(signals.get(), session);
  return run_in(session, options, std::move(source), watch, terminal);
}

}  // namespace capstan::cli
