#pragma once

// What was written before a message was sent is visible to whoever received it. The thread
// sanitizer cannot see that when both sides live in one process, as in tests: it is told here.
// Elsewhere these calls are nothing.

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define CAPSTAN_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CAPSTAN_THREAD_SANITIZER 1
#endif
#endif

namespace capstan {

#ifdef CAPSTAN_THREAD_SANITIZER
void sync_before_send(uint64_t link);
void sync_after_receive(uint64_t link);
#else
inline void sync_before_send(uint64_t) {}
inline void sync_after_receive(uint64_t) {}
#endif

}  // namespace capstan
