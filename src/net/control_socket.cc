#include "net/control_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"

namespace capstan {
namespace {

union ControlSpace {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int))];
};

// Bytes after the kind.
size_t body_bytes(ControlSocket::Kind kind) {
  switch (kind) {
    case ControlSocket::Kind::kWake: return 0;
    case ControlSocket::Kind::kDrop: return 8;
    default: return 16;
  }
}

Fd fd_in(msghdr& message) {
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return Fd(fd);
}

}  // namespace

bool ControlSocket::send(const char* data, size_t bytes, int fd) {
  iovec part = {const_cast<char*>(data), bytes};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlSpace space = {};
  if (fd >= 0) {
    message.msg_control = space.bytes;
    message.msg_controllen = sizeof space.bytes;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  // Records are far smaller than the socket's buffer: one goes whole or not at all.
  return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == ssize_t(bytes);
}

void ControlSocket::wake() {
  char kind = char(Kind::kWake);
  (void)send(&kind, 1, -1);
}

bool ControlSocket::send_region(Kind kind, const SharedRegion& region) {
  std::string record(1, char(kind));
  put_fixed64(record, region.id());
  put_fixed64(record, region.bytes());
  return send(record.data(), record.size(), region.fd());
}

bool ControlSocket::send_drop(uint64_t id) {
  std::string record(1, char(Kind::kDrop));
  put_fixed64(record, id);
  return send(record.data(), record.size(), -1);
}

bool ControlSocket::drain(FunctionRef<void(Event&&)> on_event) {
  for (;;) {
    char bytes[256];
    iovec part = {bytes, sizeof bytes};
    ControlSpace space;
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.bytes;
    message.msg_controllen = sizeof space.bytes;
    ssize_t n = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n <= 0) return false;
    // The kernel hands out a descriptor together with the first byte of its record.
    if (Fd fd = fd_in(message)) received_.push_back(std::move(fd));
    input_.append(bytes, size_t(n));
    parse(on_event);
  }
}

void ControlSocket::parse(FunctionRef<void(Event&&)> on_event) {
  std::string_view in = input_;
  while (!in.empty()) {
    Kind kind = Kind(in[0]);
    if (kind < Kind::kWake || kind > Kind::kLane) {
      throw data_loss("{} sent nonsense beside its shared memory", peer_);
    }
    if (in.size() < 1 + body_bytes(kind)) break;
    in.remove_prefix(1);
    Event event{.kind = kind};
    if (kind == Kind::kWake) continue;
    event.id = *take_fixed64(in);
    if (kind != Kind::kDrop) {
      event.bytes = *take_fixed64(in);
      if (received_.empty()) {
        throw data_loss("{} announced shared memory without passing it", peer_);
      }
      event.fd = std::move(received_.front());
      received_.pop_front();
    }
    on_event(std::move(event));
  }
  input_.erase(0, input_.size() - in.size());
}

}  // namespace capstan
