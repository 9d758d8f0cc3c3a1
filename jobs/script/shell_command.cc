#include "jobs/script/shell_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/error.h"
#include "base/fd.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

constexpr size_t kLongestAnswer = 1 << 20;
constexpr int kRound = 50;  // milliseconds between two looks at whether it shall stop

// Signals are what they are in a terminal, whatever this process makes of them: `timeout 5 x` has
// to work. A group of its own is what can be ended with all that it started.
void set_up(posix_spawnattr_t& attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

pid_t start(const std::string& command, int output) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&files);
  set_up(attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  const char* argv[] = {"sh", "-c", command.c_str(), nullptr};
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, "/bin/sh", &files, &attributes, const_cast<char* const*>(argv), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error) throw unavailable("the shell does not start: {}", std::strerror(error));
  return pid;
}

class Command {
 public:
  Command(const std::string& command, const std::function<bool()>& stopped) : stopped_(stopped) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw resource_exhausted("no pipe: {}", std::strerror(errno));
    output_ = Fd(ends[0]);
    const Fd writing(ends[1]);
    pid_ = start(command, writing.get());
  }
  ~Command() {
    if (pid_ < 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Command(const Command&) = delete;

  std::string output() {
    std::string out;
    char buffer[4096];
    for (pollfd ready{output_.get(), POLLIN, 0};;) {
      check();
      if (poll(&ready, 1, kRound) <= 0) continue;
      const ssize_t n = read(output_.get(), buffer, sizeof buffer);
      if (n <= 0) return out;
      out.append(buffer, size_t(n));
      if (out.size() > kLongestAnswer)
        throw resource_exhausted("the command prints more than {} MB", kLongestAnswer >> 20);
    }
  }

  int status() {
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      check();
      poll(nullptr, 0, kRound);
    }
    pid_ = -1;
    return status;
  }

 private:
  void check() const {
    if (stopped_()) throw cancelled("the command was stopped with its script");
  }

  const std::function<bool()>& stopped_;
  Fd output_;
  pid_t pid_ = -1;
};

}  // namespace

std::string shell_answer(const std::string& command, const std::function<bool()>& stopped) {
  Command running(command, stopped);
  const std::string out = running.output();
  const int status = running.status();
  if (status == 0) return std::string(trimmed(out));
  if (WIFEXITED(status)) throw aborted("the command ended with code {}", WEXITSTATUS(status));
  throw aborted("the command was ended by signal {}", WTERMSIG(status));
}

}  // namespace capstan::script
