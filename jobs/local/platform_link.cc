#include "jobs/local/platform_link.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "jobs/local/link_packets.h"

namespace capstan::jobs {
namespace {

constexpr size_t kLargestPacket = 256 * 1024;
constexpr std::string_view kSynced = "synced";

enum class Got { kPacket, kNothing, kEnd };

Got receive(int fd, std::string& packet, int flags) {
  packet.resize(kLargestPacket);
  for (;;) {
    ssize_t n = recv(fd, packet.data(), packet.size(), flags);
    // A reset says once that the other side died without having read all: what it sent comes next.
    if (n < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    if (n < 0 && errno == EAGAIN) return Got::kNothing;
    if (n <= 0) return Got::kEnd;
    packet.resize(size_t(n));
    return Got::kPacket;
  }
}

// False if there is no room now.
bool send_packet(int fd, std::string_view packet, int flags) {
  ssize_t n;
  do {
    n = send(fd, packet.data(), packet.size(), flags | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n >= 0 || errno != EAGAIN;  // one that has died takes everything
}

}  // namespace

PlatformServer::PlatformServer(PollLoop& loop, Platform& platform,
                               std::function<TaskSpec(const TaskId&)> spec_of)
    : loop_(loop), platform_(platform), spec_of_(std::move(spec_of)) {
  platform_.watch(this);
}

PlatformServer::~PlatformServer() {
  platform_.watch(nullptr);
  if (socket_) loop_.unwatch(socket_.get());
}

void PlatformServer::serve(Fd socket) {
  socket_ = std::move(socket);
  synced_ = false;
  loop_.watch(socket_.get(), [this] { read(); });
  changed();
}

void PlatformServer::hang_up() {
  if (!socket_) return;
  read();
  loop_.unwatch(socket_.get());
  socket_.reset();
}

void PlatformServer::changed() {
  for (const TaskStatus& status : platform_.list()) untold_.insert(status.task);
  flush();
}

void PlatformServer::progress(const TaskId& task, const Progress&) {
  untold_.insert(task);
  flush();
}

void PlatformServer::read() {
  std::string packet;
  while (socket_) {
    const Got got = receive(socket_.get(), packet, MSG_DONTWAIT);
    if (got == Got::kPacket) obey(packet);
    if (got == Got::kNothing) return flush();
    if (got == Got::kEnd) return loop_.unwatch(socket_.get());  // its process is seen to end
  }
}

void PlatformServer::obey(std::string_view text) {
  const std::optional<Request> request = request_from_json(text);
  if (!request) return;
  switch (request->what) {
    case Request::What::kStart:
      platform_.start(spec_of_(request->task), request->attempt);
      untold_.insert(request->task);
      break;
    case Request::What::kAsk: platform_.stop(request->task, StopHow::kAsk); break;
    case Request::What::kKill: platform_.stop(request->task, StopHow::kKill); break;
    case Request::What::kCleanUp: platform_.clean_up(); break;
  }
}

// What does not fit goes when there is room: by then it may say more.
void PlatformServer::flush() {
  if (!socket_) return;
  const std::vector<TaskStatus> list = platform_.list();
  while (!untold_.empty()) {
    auto found = std::ranges::find(list, *untold_.begin(), &TaskStatus::task);
    StatusPacket packet{*found, {}};
    if (found->ended) packet.last_lines = platform_.last_lines(found->task);
    if (!send_packet(socket_.get(), to_json(packet), MSG_DONTWAIT)) break;
    untold_.erase(untold_.begin());
  }
  if (untold_.empty() && !synced_) synced_ = send_packet(socket_.get(), kSynced, MSG_DONTWAIT);
  const bool waits = !untold_.empty() || !synced_;
  loop_.watch(
      socket_.get(), [this] { read(); }, short(waits ? POLLIN | POLLOUT : POLLIN));
}

RemotePlatform::RemotePlatform(PollLoop& loop, Fd socket, std::function<void()> gone)
    : loop_(loop), socket_(std::move(socket)), gone_(std::move(gone)) {
  std::string packet;
  do {
    if (receive(socket_.get(), packet, 0) != Got::kPacket) {
      throw unavailable("whoever holds the tasks of this job is gone");
    }
    take(packet);
  } while (packet != kSynced);
  loop_.watch(socket_.get(), [this] { read(); });
}

RemotePlatform::~RemotePlatform() {
  if (socket_) loop_.unwatch(socket_.get());
}

// The list holds it from now on: the true status comes when it has begun.
void RemotePlatform::start(const TaskSpec& spec, int attempt) {
  TaskStatus& status = tasks_[spec.task];
  CAPSTAN_CHECK(status.attempt == 0 || status.ended);
  status = {.task = spec.task, .attempt = attempt, .host = status.host, .port = status.port};
  status.started_at = seconds_of(loop_.now());
  send(to_json(Request{Request::What::kStart, spec.task, attempt}));
}

void RemotePlatform::stop(const TaskId& task, StopHow how) {
  tasks_[task].asked_to_stop = true;
  const auto what = how == StopHow::kAsk ? Request::What::kAsk : Request::What::kKill;
  send(to_json(Request{what, task}));
}

std::vector<TaskStatus> RemotePlatform::list() const {
  std::vector<TaskStatus> all;
  for (const auto& [id, status] : tasks_) all.push_back(status);
  return all;
}

std::vector<std::string> RemotePlatform::last_lines(const TaskId& task) const {
  auto found = last_lines_.find(task);
  return found == last_lines_.end() ? std::vector<std::string>() : found->second;
}

void RemotePlatform::clean_up() { send(to_json(Request{Request::What::kCleanUp})); }

void RemotePlatform::send(const std::string& request) {
  if (socket_) send_packet(socket_.get(), request, 0);
}

void RemotePlatform::read() {
  std::string packet;
  for (;;) {
    const Got got = receive(socket_.get(), packet, MSG_DONTWAIT);
    if (got == Got::kNothing) return;
    if (got == Got::kPacket && take(packet) && watcher_) watcher_->changed();
    if (got != Got::kEnd) continue;
    loop_.unwatch(socket_.get());
    socket_.reset();
    return gone_();
  }
}

// True if more than progress has changed.
bool RemotePlatform::take(std::string_view text) {
  std::optional<StatusPacket> packet = status_from_json(text);
  if (!packet) return false;
  TaskStatus& known = tasks_[packet->status.task];
  if (packet->status.attempt < known.attempt) return false;  // sent before it read of the start
  // As asked, even if it does not know that yet.
  const bool asked = known.attempt == packet->status.attempt && known.asked_to_stop;
  packet->status.asked_to_stop |= asked;
  const bool moved = packet->status.told.progress != known.told.progress;
  if (packet->status.ended) last_lines_[packet->status.task] = std::move(packet->last_lines);
  known = std::move(packet->status);
  if (moved && watcher_) watcher_->progress(known.task, known.told.progress);
  return true;
}

}  // namespace capstan::jobs
