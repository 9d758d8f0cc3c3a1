#include "net/lane.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "net/epoll_loop.h"
#include "net/socket.h"

namespace capstan {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestSleep{200};
// While a lane waits for room to write it takes in what comes, up to so many messages: the peer may
// be waiting for us to read.
constexpr size_t kInboxWhileSending = 1024;

// A wait for bytes to move that polls before it sleeps.
class Spin {
 public:
  explicit Spin(PollLimit& patience) : patience_(patience) {}
  // True after a yield; false when it is time to sleep.
  bool again() {
    waited_ = true;
    if (steady_clock::now() - since_ >= patience_.limit()) return false;
    ::sched_yield();
    return true;
  }
  void moved() {
    const Deadline now = steady_clock::now();
    if (std::exchange(waited_, false)) patience_.waited(now - since_);
    since_ = now;
  }

 private:
  PollLimit& patience_;
  Deadline since_ = steady_clock::now();
  bool waited_ = false;
};

}  // namespace

// Sleeps until one of some lanes may have something to do.
class LaneSleep {
 public:
  LaneSleep(std::span<Lane* const> lanes, bool room) : lanes_(lanes), room_(room) {}

  // Throws DeadlineExceeded and whatever on_interrupt does.
  void sleep(const WaitOptions& wait) {
    auto left = wait.deadline - steady_clock::now();
    if (left <= left.zero()) throw deadline_exceeded("no answer from {} in time", names());
    // The finest step of poll is a millisecond; it must not end before the deadline.
    auto ms =
        left > kLongestSleep ? kLongestSleep : std::chrono::ceil<std::chrono::milliseconds>(left);
    int n = arm() ? ::poll(fds_.data(), fds_.size(), int(ms.count())) : 1;
    int error = errno;
    settle(n);
    if (n < 0 && error != EINTR) throw internal_error("poll failed: {}", errno_text(error));
    if (n <= 0 && wait.on_interrupt) wait.on_interrupt();
  }

 private:
  SocketLane& lane(size_t i) const { return static_cast<SocketLane&>(*lanes_[i]); }

  bool arm() {
    fds_.clear();
    for (size_t i = 0; i < lanes_.size(); ++i) {
      Channel& channel = *lane(i).channel_;
      if (!channel.arm(true, room_)) return false;
      short events = POLLIN;
      if (room_ && channel.room_shows_on_fd()) events |= POLLOUT;
      fds_.push_back({channel.fd(), events, 0});
      fds_.push_back({lane(i).cancel_fd_.get(), POLLIN, 0});
    }
    return true;
  }

  void settle(int n) {
    for (size_t i = 0; i < lanes_.size(); ++i) lane(i).channel_->disarm();
    for (size_t i = 0; n > 0 && i < fds_.size(); i += 2) {
      if (fds_[i].revents & (POLLIN | POLLHUP | POLLERR)) lane(i / 2).channel_->on_ready();
    }
  }

  std::string names() const {
    std::string out;
    for (size_t i = 0; i < lanes_.size(); ++i) out += (i ? ", " : "") + lanes_[i]->peer();
    return out;
  }

  const std::span<Lane* const> lanes_;
  const bool room_;
  std::vector<pollfd> fds_;
};

SocketLane::SocketLane(std::unique_ptr<Channel> channel, std::string peer, uint64_t incarnation)
    : channel_(std::move(channel)),
      peer_(std::move(peer)),
      incarnation_(incarnation),
      cancel_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!cancel_fd_) throw resource_exhausted("cannot make a lane: {}", errno_text(errno));
}

SocketLane::~SocketLane() = default;

void SocketLane::cancel() noexcept {
  cancelled_.store(true);
  uint64_t one = 1;
  (void)!::write(cancel_fd_.get(), &one, sizeof one);
}

void SocketLane::resume() {
  uint64_t count = 0;
  (void)!::read(cancel_fd_.get(), &count, sizeof count);
  cancelled_.store(false);
}

void SocketLane::check_cancelled() const {
  if (cancelled_.load(std::memory_order_relaxed)) {
    throw cancelled("the call to {} was cancelled", peer_);
  }
}

bool SocketLane::pump() {
  if (!inbox_.empty()) return true;
  Message message;
  if (!channel_->read(message)) return false;
  inbox_.push_back(std::move(message));
  return true;
}

void SocketLane::send(const Message& message, const WaitOptions& wait) {
  check_cancelled();
  if (broken_) throw unavailable("an earlier message to {} was cut off; connect again", peer_);
  channel_->encode(frame_, message);
  broken_ = true;
  Lane* self = this;
  Spin spin(patience_);
  for (uint64_t left = frame_.bytes_left(); !channel_->write(frame_);) {
    check_cancelled();
    Message early;
    if (inbox_.size() < kInboxWhileSending && channel_->read(early)) {
      inbox_.push_back(std::move(early));
    }
    if (std::exchange(left, frame_.bytes_left()) != frame_.bytes_left()) spin.moved();
    if (!spin.again()) LaneSleep({&self, 1}, true).sleep(wait);
  }
  broken_ = false;
}

bool SocketLane::try_receive(Message& out) {
  if (!pump()) return false;
  channel_->reap();
  out = std::move(inbox_.front());
  inbox_.pop_front();
  return true;
}

Message SocketLane::receive(const WaitOptions& wait) {
  Lane* self = this;
  capstan::wait_any({&self, 1}, wait);
  Message out;
  CAPSTAN_CHECK(try_receive(out));
  return out;
}

size_t wait_any(std::span<Lane* const> lanes, const WaitOptions& wait) {
  CAPSTAN_CHECK(!lanes.empty());
  Spin spin(static_cast<SocketLane&>(*lanes[0]).patience_);
  for (uint64_t before = 0;;) {
    uint64_t moved = 0;
    for (size_t i = 0; i < lanes.size(); ++i) {
      auto& lane = static_cast<SocketLane&>(*lanes[i]);
      lane.check_cancelled();
      if (lane.pump()) {
        spin.moved();
        return i;
      }
      moved += lane.channel_->bytes_read();
    }
    if (std::exchange(before, moved) != moved) spin.moved();
    if (!spin.again()) LaneSleep(lanes, false).sleep(wait);
  }
}

}  // namespace capstan
