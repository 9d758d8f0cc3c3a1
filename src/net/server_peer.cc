#include "net/server_peer.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "net/socket.h"

namespace capstan {
namespace {

// Messages of one peer that are handled before others get their turn.
constexpr int kMessagesPerTurn = 16;
// A peer that receives slowly, or was stopped, keeps the budget from others for so long at most.
constexpr std::chrono::seconds kPatience{1};

size_t cost(const Message& message) {
  size_t bytes = kFrameHeaderBytes + message.meta.size();
  for (const Tensor& tensor : message.tensors) bytes += tensor.bytes();
  return bytes;
}

}  // namespace

ServerPeer::ServerPeer(ServerContext& context, Fd fd, TransportKind kind, std::string where,
                       uint64_t id)
    : context_(context),
      id_(id),
      where_(std::move(where)),
      kind_(kind),
      name_(where_),
      socket_(std::move(fd)) {}

int ServerPeer::fd() const {
  if (channel_) return channel_->fd();
  return opening_ ? opening_->fd() : socket_.get();
}

void ServerPeer::start() {
  uint32_t features = kind_ == TransportKind::kUnix ? uint32_t(kFeatureShm) : 0;
  handshake_.emplace(Handshake::Role::kServer, context_.options.self, features, context_.unix_name,
                     where_, context_.random);
  interest_ = EPOLLIN;
  context_.loop.add(fd(), interest_, this);
  context_.unproven.emplace(id_, this);
  std::weak_ptr<ServerPeer> weak = shared_from_this();
  handshake_timer_ =
      context_.loop.at(context_.loop.now() + context_.options.handshake_time, [weak] {
        auto self = weak.lock();
        if (self) self->shut(deadline_exceeded("{} did not finish its handshake", self->name_));
      });
}

void ServerPeer::on_event(uint32_t) {
  auto self = shared_from_this();  // may be shut on the way
  try {
    while (state_ == State::kHandshake && step_handshake()) {
    }
    if (state_ == State::kOpening) {
      if (auto channel = opening_->poll()) open(std::move(channel));
    } else if (state_ == State::kOpen) {
      channel_->disarm();
      channel_->on_ready();
    }
  } catch (...) {
    return shut(current_error());
  }
  if (state_ != State::kOpen) return;
  context_.loop.touch(this);
  poll();
}

bool ServerPeer::step_handshake() {
  char bytes[512];
  ssize_t n = ::recv(fd(), bytes, std::min(sizeof bytes, handshake_->wanted()), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) throw unavailable("{} left during its handshake", where_);
  try {
    handshake_->feed({bytes, size_t(n)});
  } catch (...) {
    flush_handshake();
    throw;
  }
  flush_handshake();
  if (handshake_->done()) after_handshake();
  return true;
}

void ServerPeer::flush_handshake() {
  std::string output = handshake_->take_output();
  if (output.empty()) return;
  // A few hundred bytes into an empty socket: who does not take them is no peer.
  if (::send(fd(), output.data(), output.size(), MSG_NOSIGNAL) != ssize_t(output.size())) {
    throw unavailable("{} does not read its handshake", where_);
  }
}

void ServerPeer::after_handshake() {
  context_.unproven.erase(id_);
  name_ = handshake_->peer_text();
  incarnation_ = handshake_->peer().incarnation;
  bool shm = handshake_->peer().features & kFeatureShm;
  ChannelOptions options = context_.options.channel;
  options.link = handshake_->link();
  options.admit = [this](size_t bytes) { return admit(bytes); };
  handshake_.reset();
  if (!shm) return open(make_socket_channel(std::move(socket_), kind_, options, name_));
  kind_ = TransportKind::kShm;
  state_ = State::kOpening;
  opening_ = std::make_unique<ShmOpening>(std::move(socket_), options, name_);
}

void ServerPeer::open(std::unique_ptr<Channel> channel) {
  context_.loop.cancel(handshake_timer_);
  {
    std::lock_guard lock(out_mutex_);
    channel_ = std::move(channel);
  }
  opening_.reset();
  state_ = State::kOpen;
  context_.handler.on_open(shared_from_this());
}

bool ServerPeer::poll() {
  if (state_ != State::kOpen) return false;
  auto self = shared_from_this();
  try {
    return pump();
  } catch (...) {
    shut(current_error());
    return true;
  }
}

bool ServerPeer::pump() {
  bool worked = queued_bytes_.load() > 0 && flush();
  uint64_t before = channel_->bytes_read();
  Message message;
  int handled = 0;
  while (handled < kMessagesPerTurn && !paused() && channel_->read(message)) {
    reap();
    handle(std::move(message));
    ++handled;
  }
  if (channel_->waits_for_admission() && !starved_) starve();
  turn_over_ = handled == kMessagesPerTurn;
  update_interest();
  return worked || handled > 0 || channel_->bytes_read() != before;
}

// Who asks again is done with what we showed it: a variable that was lent can be changed in place.
void ServerPeer::reap() {
  std::lock_guard lock(out_mutex_);
  channel_->reap();
}

void ServerPeer::handle(Message&& message) {
  Message head;
  head.call = message.call;
  head.session = message.session;
  try {
    context_.handler.on_message(shared_from_this(), std::move(message));
  } catch (...) {
    send(error_reply(head, current_error()));
  }
}

std::shared_ptr<void> ServerPeer::admit(size_t bytes) {
  auto ticket = context_.budget->take(bytes, insists_);
  if (ticket) insists_ = false;
  return ticket;
}

void ServerPeer::starve() {
  starved_ = true;
  std::weak_ptr<ServerPeer> weak = weak_from_this();
  context_.starved.push_back(weak);
  patience_ = context_.loop.at(context_.loop.now() + kPatience, [weak] {
    auto self = weak.lock();
    if (!self || !self->starved_) return;
    self->insists_ = true;
    self->try_again();
  });
}

void ServerPeer::try_again() {
  if (state_ != State::kOpen || !starved_) return;
  starved_ = false;
  context_.loop.cancel(patience_);
  context_.loop.touch(this);
  poll();
}

bool ServerPeer::rest() {
  if (state_ != State::kOpen) return true;
  if (turn_over_ && !paused()) return false;
  return channel_->arm(!paused(), queued_bytes_.load() > 0);
}

void ServerPeer::update_interest() {
  bool on_fd = channel_->room_shows_on_fd();
  uint32_t wanted = (paused() && on_fd) ? 0u : uint32_t(EPOLLIN);
  if (queued_bytes_.load() > 0 && on_fd) wanted |= EPOLLOUT;
  if (wanted == interest_) return;
  interest_ = wanted;
  context_.loop.modify(fd(), interest_, this);
}

// A message that cannot travel becomes an error in its place: the caller at the other end waits.
void ServerPeer::encode(OutFrame& frame, Message& message) {
  try {
    channel_->encode(frame, message);
  } catch (const Error& error) {
    message = error_reply(message, error);
    channel_->encode(frame, message);
  }
}

void ServerPeer::send(Message message) {
  std::lock_guard lock(out_mutex_);
  if (!channel_ || closing_) return;
  try {
    if (!queue_.empty()) {
      size_t bytes = cost(message);
      return enqueue({std::move(message), {}, bytes, false});
    }
    encode(frame_, message);
    if (channel_->write(frame_)) return;
    size_t bytes = frame_.bytes_left();
    enqueue({std::move(message), std::exchange(frame_, {}), bytes, true});
  } catch (...) {
    closing_ = true;
    context_.loop.post([self = shared_from_this(), why = current_error()] { self->shut(why); });
  }
}

void ServerPeer::enqueue(Queued queued) {
  size_t total = queued_bytes_.load() + queued.bytes;
  if (total > context_.options.max_queue_bytes) {
    throw resource_exhausted(
        "{} does not read its replies: {} bytes wait for it, the limit is {} (max_queue_bytes)",
        name_, total, context_.options.max_queue_bytes);
  }
  bool first = queue_.empty();
  queued_bytes_.store(total);
  queue_.push_back(std::move(queued));
  if (first) {
    context_.loop.post([self = shared_from_this()] {
      if (self->state_ != State::kOpen) return;
      self->channel_->disarm();
      self->update_interest();
      self->context_.loop.touch(self.get());
    });
  }
}

bool ServerPeer::flush() {
  bool worked = false;
  std::lock_guard lock(out_mutex_);
  while (!queue_.empty()) {
    Queued& next = queue_.front();
    if (!next.encoded) encode(next.frame, next.message);
    next.encoded = true;
    uint64_t before = next.frame.bytes_left();
    bool whole = channel_->write(next.frame);
    worked |= next.frame.bytes_left() != before;
    if (!whole) break;
    queued_bytes_.store(queued_bytes_.load() - next.bytes);
    queue_.pop_front();
  }
  return worked;
}

void ServerPeer::close() {
  std::lock_guard lock(out_mutex_);
  if (!channel_ || closing_) return;
  closing_ = true;
  context_.loop.post([self = shared_from_this()] {
    self->shut(cancelled("the connection of {} was closed here", self->name_));
  });
}

void ServerPeer::shut(const Error& why) {
  if (state_ == State::kClosed) return;
  auto self = shared_from_this();
  bool was_open = state_ == State::kOpen;
  state_ = State::kClosed;
  context_.loop.cancel(handshake_timer_);
  context_.loop.cancel(patience_);
  context_.loop.remove(fd(), this);
  context_.unproven.erase(id_);
  {
    std::lock_guard lock(out_mutex_);
    channel_.reset();
    queue_.clear();
    queued_bytes_.store(0);
  }
  opening_.reset();
  socket_.reset();
  context_.forget(this);
  if (was_open) {
    context_.handler.on_close(self, why);
  } else {
    context_.refusals.add(why);
  }
}

}  // namespace capstan
