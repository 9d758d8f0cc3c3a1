#pragma once

// The limit that the wire sets: so many bytes there and back between two processes over a bare TCP
// socket, waiting as net does at its most patient (net/poll_limit.h).

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <vector>

#include "net/lane.h"
#include "net/poll_limit.h"
#include "net/socket.h"

namespace capstan {

// A process that runs `body` until it is told to end; starts once `body` has reported its port.
class Child {
 public:
  explicit Child(const std::function<void(const std::function<void(uint16_t)>&)>& body) {
    int ends[2];
    CAPSTAN_CHECK(::pipe(ends) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      body([&](uint16_t port) { (void)!::write(ends[1], &port, sizeof port); });
      ::_exit(0);
    }
    CAPSTAN_CHECK(::read(ends[0], &port_, sizeof port_) == sizeof port_);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  uint16_t port() const { return port_; }

 private:
  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

// The wait that net uses, on a bare descriptor.
inline void wait_raw(int fd, short events, Deadline& spin_until) {
  if (std::chrono::steady_clock::now() < spin_until) {
    ::sched_yield();
    return;
  }
  pollfd one = {fd, events, 0};
  ::poll(&one, 1, -1);
  spin_until = std::chrono::steady_clock::now() + Patience::kMost;
}

inline bool transfer(int fd, char* data, size_t bytes, bool out) {
  Deadline spin_until = std::chrono::steady_clock::now() + Patience::kMost;
  while (bytes > 0) {
    ssize_t n = out ? ::send(fd, data, bytes, MSG_NOSIGNAL) : ::recv(fd, data, bytes, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return false;
    if (n > 0) {
      data += n;
      bytes -= size_t(n);
      spin_until = std::chrono::steady_clock::now() + Patience::kMost;
    } else {
      wait_raw(fd, out ? POLLOUT : POLLIN, spin_until);
    }
  }
  return true;
}

inline void raw_server(size_t bytes, const std::function<void(uint16_t)>& ready) {
  Fd listener = listen_tcp(resolve({"127.0.0.1", 0}).front());
  ready(local_address(listener.get()).port());
  pollfd one = {listener.get(), POLLIN, 0};
  ::poll(&one, 1, -1);
  Fd fd = accept_connection(listener.get());
  tune_tcp(fd.get(), remote_address(fd.get()));
  std::vector<char> in(bytes), out(bytes);
  while (transfer(fd.get(), in.data(), bytes, false)) {
    if (!transfer(fd.get(), out.data(), bytes, true)) return;
  }
}

// One exchange with a raw_server() of as many bytes.
inline std::function<void()> raw_exchange(const Child& server, size_t bytes) {
  bool pending = false;
  auto fd = std::make_shared<Fd>(start_tcp(resolve({"127.0.0.1", server.port()}).front(), pending));
  pollfd one = {fd->get(), POLLOUT, 0};
  ::poll(&one, 1, -1);
  auto out = std::make_shared<std::vector<char>>(bytes),
       in = std::make_shared<std::vector<char>>(bytes);
  return [=] {
    CAPSTAN_CHECK(transfer(fd->get(), out->data(), bytes, true));
    CAPSTAN_CHECK(transfer(fd->get(), in->data(), bytes, false));
  };
}

}  // namespace capstan
