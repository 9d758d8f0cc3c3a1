#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "jobs/duck/duck.h"
#include "jobs/local/local_runner.h"
#include "jobs/local/pipes.h"
#include "jobs/script/interpreter.h"
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

script::Source source_of(const SqlOptions& options) {
  if (options.file.empty()) return {"-e", options.text};
  if (options.file == "-") {
    return {"standard input", std::string(std::istreambuf_iterator<char>(std::cin), {})};
  }
  return {options.file, posix_files().read(options.file)};
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

int run_in(script::Session& session, const SqlOptions& options, script::Source source,
           const SignalWatch& watch, ScriptTerminal& terminal) {
  const script::RunOptions all{.result_rows = options.output == "table" ? 5000 : -1};
  int code = 0;
  try {
    run_script(session, std::move(source), all);
  } catch (const Error& error) {
    terminal.failed(error.message());
    code = exit_code_of(error);
  }
  terminal.clear();
  if (watch.signal()) return jobs::kExitSignalBase + watch.signal();
  return terminal.deaf() ? jobs::kExitSignalBase + SIGPIPE : code;
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
  jobs::LocalRunner runner(runner_options(options));
  const std::unique_ptr<script::Engine> engine = duck::duck_engine();
  script::Session session(*engine, runner, script::Paths(home_of(options), root_of(options)),
                          terminal);
  running = &session;
  session.owner = user_name();
  session.allow_shell = options.allow_shell;
  for (const auto& [name, value] : options.variables) session.variables[name] = {.text = value};
  const SignalWatch watch(signals.get(), session);
  return run_in(session, options, std::move(source), watch, terminal);
}

}  // namespace capstan::cli
