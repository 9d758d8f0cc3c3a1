#include "jobs/local/keeper.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "jobs/local/children.h"
#include "jobs/local/pipes.h"
#include "jobs/local/process.h"

namespace capstan::jobs {
namespace {

[[noreturn]] void watch(int line, const std::string& entry, const std::function<void()>& sweep) {
  setsid();  // a Ctrl-C in the terminal is not for us
  // Above all the held ports: a listening socket left here would outlive its task.
  dup2(line, 0);
  close_range(1, ~0U, 0);
  char byte = 0;
  ssize_t n = 0;
  do {
    n = read(0, &byte, 1);
  } while (n < 0 && errno == EINTR);
  if (n == 0) kill_processes_with(entry), sweep();
  _exit(0);
}

}  // namespace

Keeper::Keeper(const std::string& entry, const std::function<void()>& sweep) {
  Fd reading = make_pipe(line_);
  pid_ = fork_child();
  if (pid_ < 0) throw resource_exhausted("cannot fork: {}", std::strerror(errno));
  if (pid_ == 0) {
    line_.reset();
    watch(reading.get(), entry, sweep);
  }
}

Keeper::~Keeper() {
  char leave = 'q';
  if (write(line_.get(), &leave, 1) != 1) kill(pid_, SIGKILL);
  wait_for_child(pid_);
}

}  // namespace capstan::jobs
