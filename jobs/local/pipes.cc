#include "jobs/local/pipes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace capstan::jobs {

Fd make_pipe(Fd& writing) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) throw resource_exhausted("pipe: {}", std::strerror(errno));
  writing = Fd(fds[1]);
  return Fd(fds[0]);
}

Fd make_packet_pair(Fd& other) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    throw resource_exhausted("socketpair: {}", std::strerror(errno));
  }
  other = Fd(fds[1]);
  return Fd(fds[0]);
}

Fd signals_as_fd(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  Fd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw resource_exhausted("signalfd: {}", std::strerror(errno));
  return fd;
}

}  // namespace capstan::jobs
