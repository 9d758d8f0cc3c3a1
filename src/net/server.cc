#include "net/server.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "net/server_peer.h"
#include "net/socket.h"

namespace capstan {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr std::chrono::milliseconds kAcceptPause{100};

std::string remote_text(int fd, TransportKind kind) {
  if (kind == TransportKind::kUnix) {
    ucred peer = {};
    socklen_t length = sizeof peer;
    (void)::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    return fmt::format("process {} of this host", peer.pid);
  }
  const SocketAddress address = remote_address(fd);
  return address.length ? address.text() : "a peer that has left";
}

// The address of this machine's first interface beside loopback; loopback where there is none.
SocketAddress interface_address(uint16_t port) {
  SocketAddress found = resolve({"127.0.0.1", port}).front();
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> guard(list, ::freeifaddrs);
  for (ifaddrs* at = list; at; at = at->ifa_next) {
    const bool usable = (at->ifa_flags & IFF_UP) && !(at->ifa_flags & IFF_LOOPBACK);
    if (!usable || !at->ifa_addr || at->ifa_addr->sa_family != AF_INET) continue;
    std::memcpy(&found.storage, at->ifa_addr, sizeof(sockaddr_in));
    found.length = sizeof(sockaddr_in);
    found.set_port(port);
    break;
  }
  return found;
}

// Where the name of a server has no address yet (its peers may know it before this host does), the
// interface's own.
std::vector<SocketAddress> own_addresses(const HostPort& where) {
  try {
    return resolve(where);
  } catch (const Error&) {
    return {interface_address(where.port)};
  }
}

Fd open_listener(const ServerOptions& options) {
  if (options.listen_fd >= 0) {
    Fd fd(options.listen_fd);
    int flags = ::fcntl(fd.get(), F_GETFL);
    if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) {
      throw invalid_argument("the inherited listening socket {} cannot be used: {}",
                             options.listen_fd, errno_text(errno));
    }
    return fd;
  }
  // "localhost" often has two addresses; programs that mix it with 127.0.0.1 mean the older one.
  auto addresses = own_addresses(parse_host_port(options.address));
  auto v4 = [](const SocketAddress& a) { return a.storage.ss_family == AF_INET; };
  auto first = std::ranges::find_if(addresses, v4);
  return listen_tcp(first == addresses.end() ? addresses.front() : *first);
}

}  // namespace

struct ServerLoop::Impl {
  struct Listener final : EpollLoop::Source {
    Listener(Impl& i, Fd f, TransportKind k) : impl(i), fd(std::move(f)), kind(k) {}
    void on_event(uint32_t) override { impl.accept(*this); }
    Impl& impl;
    Fd fd;
    TransportKind kind;
  };

  Impl(ServerOptions options, Handler& handler)
      : context{.options = std::move(options), .handler = handler},
        tcp(*this, open_listener(context.options), TransportKind::kTcp),
        unix_(*this, Fd(), TransportKind::kUnix),
        address(local_address(tcp.fd.get())) {
    context.forget = [this](ServerPeer* peer) { peers.erase(peer); };
    context.budget = std::make_shared<ReceiveBudget>(
        context.options.receive_bytes, [this] { context.loop.post([this] { feed_starved(); }); });
    if (context.options.local) listen_locally();
    context.loop.add(tcp.fd.get(), EPOLLIN, &tcp);
  }

  ~Impl() { context.budget->close(); }

  void feed_starved() {
    for (auto& weak : std::exchange(context.starved, {})) {
      if (auto peer = weak.lock()) peer->try_again();
    }
  }

  // Somebody else may have taken the name; TCP remains.
  void listen_locally() {
    std::string name = unix_name(address);
    unix_.fd = listen_unix(name);
    if (!unix_.fd) return;
    context.unix_name = name;
    context.loop.add(unix_.fd.get(), EPOLLIN, &unix_);
  }

  void accept(Listener& from) {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      Fd fd = accept_connection(from.fd.get());
      if (fd) {
        admit(std::move(fd), from.kind);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        const int error = errno;
        if (!make_room()) return pause_accepting(from, error);
      } else if (errno != ECONNABORTED && errno != EINTR) {
        return;
      }
    }
  }

  // Idle connections of strangers must not shut out who belongs here.
  bool make_room() {
    if (context.unproven.empty()) return false;
    ServerPeer& oldest = *context.unproven.begin()->second;
    oldest.shut(resource_exhausted(
        "{} did not prove itself before others came, and all {} connections were taken",
        oldest.name(), peers.size()));
    return true;
  }

  // Out of descriptors: those who wait stay in the kernel's queue for a moment.
  void pause_accepting(Listener& from, int error) {
    refuse(resource_exhausted("cannot accept connections: {}", errno_text(error)));
    context.loop.modify(from.fd.get(), 0, &from);
    context.loop.at(context.loop.now() + kAcceptPause,
                    [this, &from] { context.loop.modify(from.fd.get(), EPOLLIN, &from); });
  }

  void admit(Fd fd, TransportKind kind) {
    std::string where = remote_text(fd.get(), kind);
    if (kind == TransportKind::kTcp) tune_tcp(fd.get(), remote_address(fd.get()));
    if (kind == TransportKind::kUnix && !same_user(fd.get())) {
      return refuse(permission_denied("{} belongs to another user", where));
    }
    if (peers.size() >= context.options.max_connections && !make_room()) {
      return refuse(resource_exhausted("{} is one connection too many: the limit is {}", where,
                                       context.options.max_connections));
    }
    auto peer = std::make_shared<ServerPeer>(context, std::move(fd), kind, where, ++last_id);
    peers.emplace(peer.get(), peer);
    try {
      peer->start();
    } catch (...) {
      peers.erase(peer.get());
      refuse(current_error());
    }
  }

  void refuse(const Error& why) { context.refusals.add(why); }

  ServerContext context;
  Listener tcp, unix_;
  SocketAddress address;
  std::unordered_map<ServerPeer*, std::shared_ptr<ServerPeer>> peers;
  uint64_t last_id = 0;
};

ServerLoop::ServerLoop(ServerOptions options, Handler& handler)
    : impl_(std::make_unique<Impl>(std::move(options), handler)) {}

ServerLoop::~ServerLoop() {
  while (!impl_->peers.empty()) {
    auto peer = impl_->peers.begin()->second;
    peer->shut(cancelled("the server at {} was stopped", address()));
  }
}

uint16_t ServerLoop::port() const { return impl_->address.port(); }
std::string ServerLoop::address() const { return impl_->address.text(); }
Loop& ServerLoop::loop() { return impl_->context.loop; }
void ServerLoop::run() { impl_->context.loop.run(); }
void ServerLoop::stop() { impl_->context.loop.stop(); }
size_t ServerLoop::connections() const { return impl_->peers.size(); }

}  // namespace capstan
