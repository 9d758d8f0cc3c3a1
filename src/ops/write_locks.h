#pragma once

// Holds the write mutexes of the variables that an op updates, as use_locking=true asks. Taken in
// one global order, so that two ops which update the same variables cannot block each other.

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>

#include "kernel/context.h"

namespace capstan {

class WriteLocks {
 public:
  // `refs`: the reference inputs that are written. Does nothing when `locks` is false.
  WriteLocks(const KernelContext& c, std::initializer_list<int> refs, bool locks) {
    if (!locks) return;
    for (int ref : refs) insert(&c.variable(ref).write_mutex());
    for (int i = 0; i < count_; ++i) held_[size_t(i)]->lock();
  }
  ~WriteLocks() {
    for (int i = count_ - 1; i >= 0; --i) held_[size_t(i)]->unlock();
  }
  WriteLocks(const WriteLocks&) = delete;
  WriteLocks& operator=(const WriteLocks&) = delete;

 private:
  // In order, each once.
  void insert(std::mutex* mutex) {
    const auto end = held_.begin() + count_;
    const auto at = std::lower_bound(held_.begin(), end, mutex, std::less<>());
    if (at != end && *at == mutex) return;
    std::move_backward(at, end, end + 1);
    *at = mutex;
    ++count_;
  }

  std::array<std::mutex*, 4> held_{};
  int count_ = 0;
};

}  // namespace capstan
