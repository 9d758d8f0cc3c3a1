#pragma once

// Threads that share the pieces of one loop with its caller. The caller cuts the work by sizes
// only, never by the number of threads, so results do not depend on it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace capstan {

// Thread-safe. While the helpers are at one loop, any other (a second caller's, or one inside a
// piece) is a plain loop on its own thread. Helpers start with the first loop that they can share.
class ThreadPool {
 public:
  // threads counts the caller: with 1 every call is a plain loop and no thread is ever started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls piece(0) ... piece(pieces - 1), in any order, and returns when all are done. When a piece
  // throws, pieces not yet begun are skipped and the first exception is thrown again here.
  void parallel_for(int64_t pieces, FunctionRef<void(int64_t piece)> piece);

  // No loop follows soon: helpers stop polling for one, and leave their cores to others.
  void rest() { rested_.store(epoch_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

 private:
  struct Loop;

  void start_helpers();
  void help();
  // Until the epoch is another than the one seen, which becomes it; false: the pool ends.
  bool wait_for_loop(uint64_t& seen);
  Loop* join_loop();
  void leave_loop(Loop& loop);
  void share(Loop& loop);
  void close(Loop& loop);

  const int threads_;
  std::atomic<bool> busy_{false};  // some caller's loop is shared

  // Grows with every shared loop and at the end; what helpers poll before they block.
  std::atomic<uint64_t> epoch_{0};
  std::atomic<uint64_t> rested_{0};  // the epoch of the last rest
  std::mutex mutex_;                 // guards what follows
  std::condition_variable wake_, left_;
  Loop* loop_ = nullptr;
  int sleeping_ = 0;
  bool stop_ = false;
  std::vector<std::thread> helpers_;
};

// How many threads a task's kernels run on: with others beside it, twice its part of the cores. A
// worker waits for parameter servers and for other workers, and what it leaves is theirs meanwhile;
// where all compute at once, pieces of loops go to whoever has a core, and little is lost.
int kernel_threads(int workers_on_host);

}  // namespace capstan
