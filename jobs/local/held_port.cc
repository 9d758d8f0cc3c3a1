#include "jobs/local/held_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace capstan::jobs {

HeldPort hold_free_port() {
  HeldPort held;
  held.socket = Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  int fd = held.socket.get();
  bool good = fd >= 0 && bind(fd, raw, size) == 0 && listen(fd, SOMAXCONN) == 0 &&
              getsockname(fd, raw, &size) == 0;
  if (!good) {
    throw resource_exhausted("no free port on 127.0.0.1: {}; see capstan doctor",
                             std::strerror(errno));
  }
  held.port = ntohs(address.sin_port);
  return held;
}

}  // namespace capstan::jobs
