#include "base/task_channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <utility>

#include "base/printable.h"

namespace capstan {
namespace {

constexpr size_t kLongestMessage = 8192;

// CLOCK_MONOTONIC is one clock for all processes of a host: the launcher compares these times.
double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

int adopt(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return -1;
  if (domain != AF_UNIX || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return -1;
  return fd;
}

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  if (static_cast<unsigned char>(c) < 0x20) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  } else {
    out += c;
  }
}

}  // namespace

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    size_t length = utf8_length(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      append_ascii(out, text[0]);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

TaskChannel::TaskChannel(int fd) : fd_(adopt(fd)) {}

TaskChannel::~TaskChannel() {
  if (fd_ >= 0) close(fd_);
}

void TaskChannel::step(int64_t step, std::optional<double> loss, int64_t last_step) {
  if (fd_ < 0) return;
  double time = now();
  std::lock_guard lock(mutex_);
  pending_step_ = fmt::format("{{\"event\":\"step\",\"time\":{:.6f},\"step\":{}", time, step);
  if (loss && std::isfinite(*loss)) pending_step_ += fmt::format(",\"loss\":{:.9g}", *loss);
  if (last_step > 0) pending_step_ += fmt::format(",\"last_step\":{}", last_step);
  pending_step_ += "}\n";
  if (time - last_sent_ < kStepInterval) return;
  last_sent_ = time;
  send_pending_step();
}

void TaskChannel::port(uint16_t port) {
  std::lock_guard lock(mutex_);
  send(fmt::format("{{\"event\":\"port\",\"time\":{:.6f},\"port\":{}}}\n", now(), port));
}

void TaskChannel::serves(bool trained) {
  std::lock_guard lock(mutex_);
  send_pending_step();
  send(fmt::format("{{\"event\":\"serves\",\"time\":{:.6f},\"trained\":{}}}\n", now(), trained));
}

void TaskChannel::waits(std::string_view whom) {
  std::lock_guard lock(mutex_);
  send(
      fmt::format("{{\"event\":\"waits\",\"time\":{:.6f},\"for\":{}}}\n", now(), json_quote(whom)));
}

void TaskChannel::error(const Error& error) { this->error(code_name(error.code()), error.what()); }

void TaskChannel::error(std::string_view code, std::string_view message) {
  std::lock_guard lock(mutex_);
  if (std::exchange(error_sent_, true)) return;
  send(fmt::format("{{\"event\":\"error\",\"time\":{:.6f},\"code\":{},\"message\":{}}}\n", now(),
                   json_quote(code), json_quote(message.substr(0, kLongestMessage))));
}

void TaskChannel::end() {
  std::lock_guard lock(mutex_);
  send_pending_step();
  send(fmt::format("{{\"event\":\"end\",\"time\":{:.6f}}}\n", now()));
}

void TaskChannel::send_pending_step() {
  if (!pending_step_.empty()) send(std::exchange(pending_step_, {}));
}

// The pair is SOCK_SEQPACKET: a message goes whole or not at all, so lines are never cut.
void TaskChannel::send(std::string line) {
  if (fd_ >= 0) ::send(fd_, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace capstan
