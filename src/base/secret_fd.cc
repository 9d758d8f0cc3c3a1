#include "base/secret_fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace capstan {
namespace {

constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
constexpr size_t kLongest = 4096;

}  // namespace

Fd secret_as_fd(const std::string& secret) {
  Fd fd(memfd_create("capstan secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  bool made = fd && write(fd.get(), secret.data(), secret.size()) == ssize_t(secret.size()) &&
              fcntl(fd.get(), F_ADD_SEALS, kSeals) == 0;
  if (!made) throw resource_exhausted("no memory for the job's secret: {}", std::strerror(errno));
  return fd;
}

std::string secret_of_fd(int fd) {
  // A system may add seals of its own.
  const int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return "";
  char text[kLongest];
  ssize_t got = pread(fd, text, sizeof text, 0);
  if (got <= 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return "";
  return {text, size_t(got)};
}

}  // namespace capstan
