#pragma once

// Lets somebody end what is waiting: each blocked op registers how to be woken, cancel() wakes all.

#include <functional>
#include <mutex>
#include <unordered_map>

#include "base/error.h"

namespace capstan {

// Thread-safe. Callbacks run on the thread that calls cancel(), outside the lock.
class Cancellation {
 public:
  // Returns 0, without keeping the callback, when already cancelled.
  uint64_t add(std::function<void()> on_cancel);
  void remove(uint64_t id);  // afterwards the callback is not called (it may be running)
  void cancel();
  bool cancelled() const;

 private:
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  uint64_t next_ = 1;
  std::unordered_map<uint64_t, std::function<void()>> callbacks_;
};

}  // namespace capstan
