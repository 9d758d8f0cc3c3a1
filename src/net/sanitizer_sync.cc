#include "net/sanitizer_sync.h"

#ifdef CAPSTAN_THREAD_SANITIZER

#include <atomic>
#include <iterator>

namespace capstan {
namespace {

std::atomic<uint64_t> links[1024];

std::atomic<uint64_t>& of(uint64_t link) { return links[link % std::size(links)]; }

}  // namespace

void sync_before_send(uint64_t link) { of(link).fetch_add(1, std::memory_order_acq_rel); }
void sync_after_receive(uint64_t link) { (void)of(link).load(std::memory_order_acquire); }

}  // namespace capstan

#endif
