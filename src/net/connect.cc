#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "net/lane.h"
#include "net/socket.h"

namespace capstan {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause{2}, kLongestPause{100}, kLongestSleep{200}, kNotice{5000};

// The waits of one connect(): keeps the deadline, lets signals in, and says what it waits for.
class ConnectWaits {
 public:
  explicit ConnectWaits(const ConnectRequest& request) : request_(request) {}

  void failed(const Error& error) { last_error_ = error; }
  // Sleeps until the descriptor (-1: none) is ready; false when `until` comes first.
  bool wait(int fd, short events, Deadline until) {
    for (;;) {
      tick();
      auto left = std::min(until, request_.deadline) - steady_clock::now();
      if (left <= left.zero()) return false;
      auto ms = left > kLongestSleep ? kLongestSleep : std::chrono::ceil<milliseconds>(left);
      pollfd one = {fd, events, 0};
      if (::poll(&one, 1, int(ms.count())) > 0) return true;
    }
  }

 private:
  void tick() {
    if (request_.on_interrupt) request_.on_interrupt();
    auto now = steady_clock::now();
    std::string reason = last_error_ ? last_error_->message() : "no answer yet";
    if (now >= request_.deadline) {
      throw deadline_exceeded(
          "{} cannot be reached: {}; is that task running, and is its address "
          "the one in the cluster spec?",
          request_.address, reason);
    }
    if (now < next_notice_) return;
    next_notice_ += kNotice;
    if (!request_.on_wait) return;
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
    request_.on_wait(
        fmt::format("still waiting for {} after {} s: {}", request_.address, seconds, reason));
  }

  const ConnectRequest& request_;
  const Deadline start_ = steady_clock::now();
  Deadline next_notice_ = start_ + kNotice;
  std::optional<Error> last_error_;
};

class Connector {
 public:
  Connector(const ConnectRequest& request, const LaneOptions& options)
      : options_(options),
        where_(parse_host_port(request.address)),
        address_(request.address),
        patience_(request) {}

  std::unique_ptr<Lane> connect() {
    for (milliseconds pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
      try {
        return attempt();
      } catch (const Error& error) {
        if (!worth_retrying(error)) throw;
        patience_.failed(error);
      }
      patience_.wait(-1, 0, steady_clock::now() + pause);
    }
  }

 private:
  static bool worth_retrying(const Error& error) {
    return error.code() == Code::kUnavailable || error.code() == Code::kDataLoss;
  }

  std::unique_ptr<Lane> attempt() {
    std::optional<Error> failure;
    for (const SocketAddress& address : resolve(where_)) {
      try {
        return options_.kind == TransportKind::kTcp ? over_tcp(address) : over_best(address);
      } catch (const Error& error) {
        if (!worth_retrying(error)) throw;
        failure = error;
      }
    }
    throw *failure;
  }

  std::unique_ptr<Lane> over_best(const SocketAddress& address) {
    bool may_use_tcp = options_.kind == TransportKind::kAuto;
    if (!is_local(address)) {
      if (may_use_tcp) return over_tcp(address);
      throw failed_precondition(
          "{} is not on this host, but the transport \"{}\" is asked for; leave CAPSTAN_TRANSPORT "
          "unset or set it to tcp",
          address_, transport_kind_name(options_.kind));
    }
    for (const std::string& name : {unix_name(address), unix_wildcard_name(address.port())}) {
      if (auto lane = over_unix(name)) return lane;
    }
    if (may_use_tcp) return over_tcp(address);
    throw unavailable("nobody answers on the Unix socket of {}", address_);
  }

  // Nothing when nobody of our user listens there.
  std::unique_ptr<Lane> over_unix(const std::string& name) {
    Fd fd = connect_unix(name);
    if (!fd || !same_user(fd.get())) return nullptr;
    bool shm = options_.kind != TransportKind::kUnix;
    PeerIdentity peer;
    ChannelOptions channel_options = options_.channel;
    std::string text =
        shake_hands(fd.get(), shm ? uint32_t(kFeatureShm) : 0, peer, channel_options.link);
    if (!(peer.features & kFeatureShm)) {
      return lane(make_socket_channel(std::move(fd), TransportKind::kUnix, channel_options, text),
                  text, peer);
    }
    ShmOpening opening(std::move(fd), channel_options, text);
    Deadline until = steady_clock::now() + options_.handshake_time;
    for (;;) {
      if (auto channel = opening.poll()) return lane(std::move(channel), text, peer);
      if (!patience_.wait(opening.fd(), POLLIN, until)) {
        throw unavailable("{} does not pass its shared memory", text);
      }
    }
  }

  std::unique_ptr<Lane> over_tcp(const SocketAddress& address) {
    Deadline until = steady_clock::now() + options_.handshake_time;
    bool pending = false;
    Fd fd = start_tcp(address, pending);
    if (!fd) throw unavailable("{}: {}", address.text(), errno_text(errno));
    if (pending) {
      if (!patience_.wait(fd.get(), POLLOUT, until)) {
        throw unavailable("{}: the connection is not answered", address.text());
      }
      if (int error = connect_error(fd.get())) {
        throw unavailable("{}: {}", address.text(), errno_text(error));
      }
    }
    PeerIdentity peer;
    ChannelOptions channel_options = options_.channel;
    std::string text = shake_hands(fd.get(), 0, peer, channel_options.link);
    // A launcher may have held the port while the server was not there yet to be met over Unix.
    if (options_.kind == TransportKind::kAuto && !peer.unix_name.empty() && is_local(address)) {
      if (auto better = over_unix_name(peer)) return better;
    }
    return lane(make_socket_channel(std::move(fd), TransportKind::kTcp, channel_options, text),
                text, peer);
  }

  std::unique_ptr<Lane> over_unix_name(const PeerIdentity& peer) {
    // The name came from the peer: only the form that we make ourselves is used.
    if (!peer.unix_name.starts_with("capstan/") || peer.unix_name.size() > 100) return nullptr;
    auto better = over_unix(peer.unix_name);
    return better && better->peer_incarnation() == peer.incarnation ? std::move(better) : nullptr;
  }

  std::unique_ptr<Lane> lane(std::unique_ptr<Channel> channel, const std::string& text,
                             const PeerIdentity& peer) {
    return std::make_unique<SocketLane>(std::move(channel), text, peer.incarnation);
  }

  // The peer's name for messages.
  std::string shake_hands(int fd, uint32_t features, PeerIdentity& peer, uint64_t& link) {
    Deadline until = steady_clock::now() + options_.handshake_time;
    Handshake hands(Handshake::Role::kClient, options_.self, features, "", address_, random_);
    send_output(fd, hands);
    while (!hands.done()) {
      if (!patience_.wait(fd, POLLIN, until)) {
        throw unavailable("{} accepts connections but does not answer", address_);
      }
      char bytes[512];
      ssize_t n = ::recv(fd, bytes, std::min(sizeof bytes, hands.wanted()), 0);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n <= 0) throw unavailable("{} left during the handshake", hands.peer_text());
      try {
        hands.feed({bytes, size_t(n)});
      } catch (...) {
        send_output(fd, hands);
        throw;
      }
      send_output(fd, hands);
    }
    peer = hands.peer();
    link = hands.link();
    return hands.peer_text();
  }

  void send_output(int fd, Handshake& hands) {
    std::string output = hands.take_output();
    // A few hundred bytes into an empty socket; a failure shows at the next read.
    if (!output.empty()) (void)!::send(fd, output.data(), output.size(), MSG_NOSIGNAL);
  }

  const LaneOptions& options_;
  const HostPort where_;
  const std::string address_;
  ConnectWaits patience_;
  SystemRandom random_;
};

}  // namespace

std::unique_ptr<Lane> connect(const ConnectRequest& request, const LaneOptions& options) {
  return Connector(request, options).connect();
}

}  // namespace capstan
