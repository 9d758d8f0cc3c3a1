#include "net/byte_stream.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/error.h"
#include "net/socket.h"

namespace capstan {
namespace {

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

size_t SocketStream::read(const iovec* parts, int count) {
  ssize_t n = count == 1 ? ::recv(fd_.get(), parts->iov_base, parts->iov_len, 0)
                         : ::readv(fd_.get(), parts, count);
  if (n > 0) return size_t(n);
  if (n == 0) throw unavailable("{} closed the connection", peer_);
  if (would_block(errno)) return 0;
  throw unavailable("the connection to {} broke: {}", peer_, errno_text(errno));
}

size_t SocketStream::write(const iovec* parts, int count) {
  ssize_t n = 0;
  if (count == 1) {
    n = ::send(fd_.get(), parts->iov_base, parts->iov_len, MSG_NOSIGNAL);
  } else {
    msghdr message = {};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = size_t(count);
    n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  }
  if (n >= 0) return size_t(n);
  if (would_block(errno)) return 0;
  throw unavailable("the connection to {} broke: {}", peer_, errno_text(errno));
}

}  // namespace capstan
