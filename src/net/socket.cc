#include "net/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <memory>
#include <system_error>

namespace capstan {
namespace {

constexpr int kBacklog = 1024;
constexpr int kFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;

void set_option(int fd, int level, int name, int value) {
  // Every option set here is an improvement, none a need: an old kernel may refuse.
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

std::string host_text(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.storage.ss_family == AF_INET) {
    auto* in = reinterpret_cast<const sockaddr_in*>(&address.storage);
    ::inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    return text;
  }
  auto* in = reinterpret_cast<const sockaddr_in6*>(&address.storage);
  ::inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
  return fmt::format("[{}]", text);
}

SocketAddress unix_address(const std::string& name) {
  SocketAddress out;
  auto* un = reinterpret_cast<sockaddr_un*>(&out.storage);
  un->sun_family = AF_UNIX;
  CAPSTAN_CHECK(name.size() + 1 <= sizeof un->sun_path);
  std::memcpy(un->sun_path + 1, name.data(), name.size());  // a leading zero: abstract
  out.length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return out;
}

bool is_any(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr.s_addr == INADDR_ANY;
  }
  auto* in = reinterpret_cast<const sockaddr_in6*>(&address.storage);
  return IN6_IS_ADDR_UNSPECIFIED(&in->sin6_addr);
}

}  // namespace

std::string errno_text(int error) { return std::system_category().message(error); }

HostPort parse_host_port(std::string_view text) {
  size_t colon = text.rfind(':');
  std::string_view digits = colon == text.npos ? "" : text.substr(colon + 1);
  std::string_view host = text.substr(0, colon == text.npos ? 0 : colon);
  HostPort out;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    throw invalid_argument("\"{}\" is not an address: expected host:port", text);
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  out.host = host.empty() ? "127.0.0.1" : std::string(host);
  return out;
}

uint16_t SocketAddress::port() const {
  if (storage.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  }
  return 0;
}

void SocketAddress::set_port(uint16_t port) {
  if (storage.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(port);
  }
}

std::string SocketAddress::text() const {
  if (storage.ss_family == AF_UNIX) return "unix";
  return fmt::format("{}:{}", host_text(*this), port());
}

namespace {

// "localhost" and names below it mean this machine even where no file says so (RFC 6761, 6.3).
bool names_loopback(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost");
}

}  // namespace

std::vector<SocketAddress> resolve(const HostPort& where) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int error = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
  if (error != 0) {
    if (names_loopback(where.host)) return resolve({"127.0.0.1", where.port});
    throw unavailable("the host name \"{}\" has no address: {}", where.host, ::gai_strerror(error));
  }
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> guard(found, ::freeaddrinfo);
  std::vector<SocketAddress> out;
  for (addrinfo* at = found; at; at = at->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, at->ai_addr, at->ai_addrlen);
    address.length = at->ai_addrlen;
    out.push_back(address);
  }
  return out;
}

bool is_local(const SocketAddress& address) {
  if (is_any(address)) return true;
  Fd probe(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress any_port = address;
  any_port.set_port(0);
  // Only an address of this machine can be bound.
  return probe && ::bind(probe.get(), any_port.get(), any_port.length) == 0;
}

SocketAddress local_address(int fd) {
  SocketAddress out;
  out.length = sizeof out.storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&out.storage), &out.length) != 0) {
    throw unavailable("socket {} has no address: {}", fd, errno_text(errno));
  }
  return out;
}

SocketAddress remote_address(int fd) {
  SocketAddress out;
  out.length = sizeof out.storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&out.storage), &out.length) != 0) return {};
  return out;
}

Fd listen_tcp(const SocketAddress& address) {
  Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | kFlags, 0));
  if (!fd) throw unavailable("cannot open a socket: {}", errno_text(errno));
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(fd.get(), address.get(), address.length) == 0 && ::listen(fd.get(), kBacklog) == 0) {
    return fd;
  }
  if (errno == EADDRINUSE) {
    throw already_exists(
        "port {} is in use at {}: another task or an earlier run may still hold it; stop that, or "
        "give this task another port",
        address.port(), address.text());
  }
  throw unavailable("cannot listen at {}: {}", address.text(), errno_text(errno));
}

std::string unix_name(const SocketAddress& address) {
  if (is_any(address)) return unix_wildcard_name(address.port());
  return fmt::format("capstan/{}", address.text());
}

std::string unix_wildcard_name(uint16_t port) { return fmt::format("capstan/*:{}", port); }

Fd listen_unix(const std::string& name) {
  SocketAddress address = unix_address(name);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | kFlags, 0));
  if (!fd || ::bind(fd.get(), address.get(), address.length) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return {};
  }
  return fd;
}

Fd start_tcp(const SocketAddress& address, bool& pending) {
  pending = false;
  Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | kFlags, 0));
  if (!fd) return {};
  tune_tcp(fd.get(), address);
  if (::connect(fd.get(), address.get(), address.length) == 0) return fd;
  pending = errno == EINPROGRESS;
  return pending ? std::move(fd) : Fd();
}

Fd connect_unix(const std::string& name) {
  SocketAddress address = unix_address(name);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | kFlags, 0));
  if (!fd || ::connect(fd.get(), address.get(), address.length) != 0) return {};
  return fd;
}

int connect_error(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

Fd accept_connection(int listener) { return Fd(::accept4(listener, nullptr, nullptr, kFlags)); }

void tune_tcp(int fd, const SocketAddress& peer) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // Between processes of one host nothing is lost and nothing needs pacing. Where the system's own
  // control is bbr, it paces with timers, and megabytes take up to half as long again.
  constexpr std::string_view kUnpaced = "reno";  // every kernel has it, for everybody
  if (is_local(peer))
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kUnpaced.data(), kUnpaced.size());
  // A host that vanishes without a word is noticed within about ten seconds.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

bool same_user(int unix_fd) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  if (::getsockopt(unix_fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return peer.uid == ::geteuid();
}

}  // namespace capstan
