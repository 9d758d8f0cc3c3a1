#include "base/random.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace capstan {

uint64_t Random::u64() {
  uint64_t value = 0;
  fill(&value, sizeof value);
  return value;
}

void SystemRandom::fill(void* out, size_t bytes) {
  char* at = static_cast<char*>(out);
  while (bytes > 0) {
    ssize_t n = getrandom(at, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw unavailable("the system gives no random bytes: {}", std::strerror(errno));
    at += n;
    bytes -= size_t(n);
  }
}

uint64_t SeededRandom::next() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void SeededRandom::fill(void* out, size_t bytes) {
  char* at = static_cast<char*>(out);
  while (bytes > 0) {
    uint64_t word = next();
    size_t n = std::min(bytes, sizeof word);
    std::memcpy(at, &word, n);
    at += n;
    bytes -= n;
  }
}

}  // namespace capstan
