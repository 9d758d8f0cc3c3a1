#include "jobs/local/held_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace capstan::jobs {
namespace {

// A socket at 127.0.0.1 that shares its port (0: any that is free) with those that do not listen.
Fd bound_socket(uint16_t& port) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  int on = 1;
  bool good = fd && setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
              bind(fd.get(), raw, size) == 0 && getsockname(fd.get(), raw, &size) == 0;
  if (!good && port != 0) {
    throw resource_exhausted(
        "the port {} of this task is in use on 127.0.0.1: {}; see capstan doctor", port,
        std::strerror(errno));
  }
  if (!good) {
    throw resource_exhausted("no free port on 127.0.0.1: {}; see capstan doctor",
                             std::strerror(errno));
  }
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

void HeldPort::listen() {
  listener = bound_socket(port);
  if (::listen(listener.get(), SOMAXCONN) == 0) return;
  throw resource_exhausted("cannot listen on 127.0.0.1:{}: {}; see capstan doctor", port,
                           std::strerror(errno));
}

HeldPort hold_free_port() {
  HeldPort held;
  held.bound = bound_socket(held.port);
  held.listen();
  return held;
}

}  // namespace capstan::jobs
