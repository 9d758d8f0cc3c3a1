#include "jobs/local/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "jobs/local/process.h"

namespace capstan::jobs {
namespace {

void clean_up(const std::string& entry, const std::vector<std::string>& scratch) {
  kill_processes_with(entry);
  std::error_code ignored;  // nobody is left to be told
  for (const std::string& folder : scratch) std::filesystem::remove_all(folder, ignored);
}

[[noreturn]] void watch(int line, const std::string& entry,
                        const std::vector<std::string>& scratch) {
  setsid();  // a Ctrl-C in the terminal is not for us
  // Above all the held ports: a listening socket left here would outlive its task.
  dup2(line, 0);
  close_range(1, ~0U, 0);
  char byte = 0;
  ssize_t n = 0;
  do {
    n = read(0, &byte, 1);
  } while (n < 0 && errno == EINTR);
  if (n == 0) clean_up(entry, scratch);
  _exit(0);
}

}  // namespace

Keeper::Keeper(const std::string& entry, const std::vector<std::string>& scratch) {
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0) throw internal_error("pipe: {}", std::strerror(errno));
  Fd reading(pipes[0]);
  line_ = Fd(pipes[1]);
  pid_ = fork();
  if (pid_ < 0) throw resource_exhausted("cannot fork: {}", std::strerror(errno));
  if (pid_ == 0) {
    line_.reset();
    watch(reading.get(), entry, scratch);
  }
}

Keeper::~Keeper() {
  char leave = 'q';
  if (write(line_.get(), &leave, 1) != 1) kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace capstan::jobs
