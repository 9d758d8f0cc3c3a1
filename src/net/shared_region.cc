#include "net/shared_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"
#include "net/socket.h"

namespace capstan {
namespace {

#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 0x0010;
#endif
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

std::shared_ptr<SharedRegion> SharedRegion::create(uint64_t id, size_t bytes) {
  Fd fd(::memfd_create("capstan", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), off_t(bytes)) != 0) {
    throw resource_exhausted("cannot make {} bytes of shared memory: {}", bytes, errno_text(errno));
  }
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) {
    throw resource_exhausted("cannot map {} bytes of shared memory: {}", bytes, errno_text(errno));
  }
  std::shared_ptr<SharedRegion> region(
      new SharedRegion(id, std::move(fd), static_cast<char*>(data), bytes));
  // After the mapping, so that ours stays the only writable one.
  if (::fcntl(region->fd(), F_ADD_SEALS, kSizeSeals | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    throw resource_exhausted("cannot seal shared memory: {}", errno_text(errno));
  }
  return region;
}

std::shared_ptr<SharedRegion> SharedRegion::map(uint64_t id, Fd fd, size_t bytes,
                                                std::string_view peer) {
  struct stat info = {};
  int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd.get(), &info) != 0 || bytes == 0 ||
      uint64_t(info.st_size) < bytes) {
    throw data_loss("{} passed shared memory that is not sealed or too short", peer);
  }
  void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) {
    throw resource_exhausted("cannot map {} bytes of {}'s shared memory: {}", bytes, peer,
                             errno_text(errno));
  }
  return std::shared_ptr<SharedRegion>(new SharedRegion(id, Fd(), static_cast<char*>(data), bytes));
}

SharedRegion::~SharedRegion() { ::munmap(data_, bytes_); }

}  // namespace capstan
