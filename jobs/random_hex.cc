#include "jobs/random_hex.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace capstan::jobs {

std::string random_hex(size_t bytes) {
  std::vector<unsigned char> random(bytes);
  if (getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    throw internal_error("no random bytes: {}", std::strerror(errno));
  }
  return fmt::format("{:02x}", fmt::join(random, ""));
}

}  // namespace capstan::jobs
