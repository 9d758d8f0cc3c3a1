#include "net/channel.h"

#include "net/sanitizer_sync.h"
#include "net/shm_places.h"
#include "net/shm_ring.h"

namespace capstan {
namespace {

class SocketChannel final : public Channel {
 public:
  SocketChannel(Fd fd, TransportKind kind, const ChannelOptions& options, const std::string& peer)
      : kind_(kind),
        link_(options.link),
        limits_(options.limits),
        stream_(std::move(fd), peer),
        reader_(options.limits, peer) {
    reader_.set_admission(options.admit);
    reader_.set_pool(options.pool);
  }

  bool read(Message& out) override {
    if (!reader_.next(stream_, out)) return false;
    sync_after_receive(link_);
    return true;
  }
  uint64_t bytes_read() const override { return reader_.bytes_read(); }
  bool waits_for_admission() const override { return reader_.waits_for_admission(); }
  void encode(OutFrame& frame, const Message& message) override {
    frame.encode(message, limits_, nullptr);
  }
  bool write(OutFrame& frame) override {
    sync_before_send(link_);
    return frame.write(stream_);
  }
  void reap() override {}
  int fd() const override { return stream_.fd(); }
  TransportKind kind() const override { return kind_; }
  bool arm(bool, bool) override { return true; }
  void disarm() override {}
  bool room_shows_on_fd() const override { return true; }
  void on_ready() override {}

 private:
  const TransportKind kind_;
  const uint64_t link_;
  const FrameLimits limits_;
  SocketStream stream_;
  FrameReader reader_;
};

class ShmChannel final : public Channel {
 public:
  ShmChannel(std::unique_ptr<ControlSocket> control, std::shared_ptr<SharedRegion> own,
             std::shared_ptr<SharedRegion> theirs, const ChannelOptions& options,
             const std::string& peer, bool gone)
      : link_(options.link),
        limits_(options.limits),
        peer_(peer),
        control_(std::move(control)),
        ring_(std::move(own), std::move(theirs), *control_, peer),
        places_(ring_, *control_, options.arena ? options.arena : SharedArena::make(), peer),
        reader_(options.limits, peer, &places_),
        gone_(gone) {
    reader_.set_admission(options.admit);
    reader_.set_pool(options.pool);
  }

  bool read(Message& out) override {
    bool whole = reader_.next(ring_, out);
    // What the peer wrote before it left still counts.
    if (!whole && gone_ && ring_.readable()) whole = reader_.next(ring_, out);
    if (whole) sync_after_receive(link_);
    if (whole || !gone_ || ring_.readable()) return whole;
    throw unavailable("{} closed the connection", peer_);
  }
  uint64_t bytes_read() const override { return reader_.bytes_read(); }
  bool waits_for_admission() const override { return reader_.waits_for_admission(); }
  void encode(OutFrame& frame, const Message& message) override {
    reap();
    frame.encode(message, limits_, &places_);
  }
  bool write(OutFrame& frame) override {
    sync_before_send(link_);
    return frame.write(ring_);
  }
  void reap() override { places_.reap(); }
  int fd() const override { return control_->fd(); }
  TransportKind kind() const override { return TransportKind::kShm; }
  bool arm(bool messages, bool room) override {
    ring_.want((messages ? kWantData : kWantNothing) | (room ? kWantSpace : kWantNothing));
    if (gone_ || (messages && ring_.readable()) || (room && ring_.writable())) {
      ring_.want(kWantNothing);
      return false;
    }
    return true;
  }
  void disarm() override { ring_.want(kWantNothing); }
  bool room_shows_on_fd() const override { return false; }
  void on_ready() override {
    if (!places_.drain()) gone_ = true;
  }
  void take(ControlSocket::Event&& event) { places_.on_event(std::move(event)); }

 private:
  const uint64_t link_;
  const FrameLimits limits_;
  const std::string peer_;
  const std::unique_ptr<ControlSocket> control_;
  ShmRing ring_;
  ShmPlaces places_;
  FrameReader reader_;
  bool gone_;
};

}  // namespace

std::unique_ptr<Channel> make_socket_channel(Fd fd, TransportKind kind,
                                             const ChannelOptions& options, std::string peer) {
  return std::make_unique<SocketChannel>(std::move(fd), kind, options, peer);
}

struct ShmOpening::Parts {
  std::unique_ptr<ControlSocket> control;
  std::shared_ptr<SharedRegion> own, theirs;
  ChannelOptions options;
  std::string peer;
};

ShmOpening::ShmOpening(Fd fd, const ChannelOptions& options, std::string peer)
    : parts_(std::make_unique<Parts>()) {
  parts_->control = std::make_unique<ControlSocket>(std::move(fd), peer);
  parts_->own = ShmRing::make_region(0, options.ring_bytes);
  parts_->options = options;
  parts_->peer = std::move(peer);
  if (!parts_->control->send_region(ControlSocket::Kind::kLane, *parts_->own)) {
    throw unavailable("{} does not take shared memory", parts_->peer);
  }
}

ShmOpening::~ShmOpening() = default;

int ShmOpening::fd() const { return parts_->control ? parts_->control->fd() : -1; }

std::unique_ptr<Channel> ShmOpening::poll() {
  Parts& p = *parts_;
  // The peer may have our region already and be at work: its further regions are for the channel.
  std::vector<ControlSocket::Event> further;
  bool open = p.control->drain([&](ControlSocket::Event&& event) {
    if (p.theirs) {
      further.push_back(std::move(event));
    } else if (event.kind == ControlSocket::Kind::kLane) {
      p.theirs = SharedRegion::map(0, std::move(event.fd), event.bytes, p.peer);
    } else {
      throw data_loss("{} passed shared memory before its lane", p.peer);
    }
  });
  if (!p.theirs) {
    if (!open) throw unavailable("{} closed the connection", p.peer);
    return nullptr;
  }
  auto channel =
      std::make_unique<ShmChannel>(std::move(p.control), p.own, p.theirs, p.options, p.peer, !open);
  for (ControlSocket::Event& event : further) channel->take(std::move(event));
  return channel;
}

}  // namespace capstan
