#pragma once

// Sockets as net uses them: close-on-exec, non-blocking, no SIGPIPE. A server listens on TCP and,
// for peers of the same host, on an abstract Unix name derived from the TCP address: nothing to
// clean up.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"

namespace capstan {

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;
};

// "host:port", "[::1]:2222", ":0" (loopback). Throws InvalidArgument naming the text.
HostPort parse_host_port(std::string_view text);

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  uint16_t port() const;
  void set_port(uint16_t port);
  std::string text() const;  // "127.0.0.1:2222", "[::1]:2222", "unix"
};

// Every address the name has. Throws Unavailable naming host and reason.
std::vector<SocketAddress> resolve(const HostPort& where);
// True when the address is one of this machine's, so that a server on it can be met over Unix.
bool is_local(const SocketAddress& address);
SocketAddress local_address(int fd);
// Of no length when the other end is gone already.
SocketAddress remote_address(int fd);

// Throws AlreadyExists for a port in use, else Unavailable; both name the address.
Fd listen_tcp(const SocketAddress& address);
// The abstract name of a server that listens on this address, with or without its host part: a
// server bound to all addresses answers under the latter.
std::string unix_name(const SocketAddress& address);
std::string unix_wildcard_name(uint16_t port);
// Nothing when somebody has the name.
Fd listen_unix(const std::string& name);

// Starts a connection; `pending` when it is not yet established. An invalid Fd and errno on
// failure.
Fd start_tcp(const SocketAddress& address, bool& pending);
Fd connect_unix(const std::string& name);
// The error of a connection that was pending: 0 when it is established.
int connect_error(int fd);

Fd accept_connection(int listener);
void tune_tcp(int fd, const SocketAddress& peer);
// True when the process at the other end of a Unix socket belongs to our user.
bool same_user(int unix_fd);

std::string errno_text(int error);

}  // namespace capstan
