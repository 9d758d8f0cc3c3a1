#include "jobs/output_queue.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace capstan::jobs {
namespace {

constexpr size_t kMost = 1024 * 1024, kLittle = 256 * 1024;
constexpr size_t kAtomicWrite = 4096;  // a pipe that is writable takes as much without blocking

bool takes_more(int fd) {
  pollfd one{fd, POLLOUT, 0};
  return poll(&one, 1, 0) > 0;
}

}  // namespace

OutputQueue::~OutputQueue() {
  on_full_ = nullptr;
  gone_ = nullptr;
  drain();
  drop();
}

void OutputQueue::write(int fd, std::string_view text) {
  if (fd < 0 || deaf_ || text.empty()) return;
  if (parts_.empty() || parts_.back().fd != fd) parts_.push_back({.fd = fd});
  parts_.back().text += text;
  waiting_ += text.size();
  drain();
}

void OutputQueue::flush(int interrupt, std::optional<std::chrono::milliseconds> patience) {
  while (!parts_.empty()) {
    pollfd fds[2] = {{parts_.front().fd, POLLOUT, 0}, {interrupt, POLLIN, 0}};
    const int ready = poll(fds, 2, patience ? int(patience->count()) : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || fds[0].revents == 0) return drop();
    drain();
  }
}

void OutputQueue::drain() {
  while (!parts_.empty() && takes_more(parts_.front().fd) && write_some()) {
  }
  watch_the_first();
  tell_fullness();
}

// False if the reader takes nothing more for now, or is gone.
bool OutputQueue::write_some() {
  Part& part = parts_.front();
  const std::string_view rest = std::string_view(part.text).substr(part.done, kAtomicWrite);
  const ssize_t n = ::write(part.fd, rest.data(), rest.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return errno == EINTR;
  if (n < 0) {
    deaf_ = true;
    drop();
    if (gone_) gone_();
    return false;
  }
  part.done += size_t(n);
  waiting_ -= size_t(n);
  if (part.done == part.text.size()) {
    parts_.pop_front();
  } else if (part.done > kMost) {
    part.text.erase(0, std::exchange(part.done, 0));
  }
  return true;
}

void OutputQueue::watch_the_first() {
  const int fd = parts_.empty() ? -1 : parts_.front().fd;
  if (fd == watched_) return;
  if (watched_ >= 0) loop_.unwatch(watched_);
  if (fd >= 0)
    loop_.watch(
        fd, [this] { drain(); }, POLLOUT);
  watched_ = fd;
}

void OutputQueue::tell_fullness() {
  const bool full = waiting_ > (full_ ? kLittle : kMost);
  if (std::exchange(full_, full) != full && on_full_) on_full_(full);
}

void OutputQueue::drop() {
  parts_.clear();
  waiting_ = 0;
  watch_the_first();
  tell_fullness();
}

}  // namespace capstan::jobs
