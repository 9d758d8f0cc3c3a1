#include "tensor/memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace capstan {
namespace {

constexpr size_t kHugePage = 2 << 20;
// What is used of a huge page to be worth one.
constexpr size_t kWorthAPage = kHugePage / 4 * 3;

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

void* allocate_bytes(size_t bytes) {
  bytes = rounded_up(bytes, kCacheLine) + kCacheLine;
  if (bytes < kWorthAPage) return std::aligned_alloc(kCacheLine, bytes);
  if (bytes % kHugePage >= kWorthAPage) bytes = rounded_up(bytes, kHugePage);
  void* data = nullptr;
  if (::posix_memalign(&data, kHugePage, bytes) != 0) return nullptr;
  // An offer: a system without huge pages has small ones.
  (void)::madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return data;
}

}  // namespace capstan
