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
    for (int ref : refs) held_[size_t(count_++)] = &c.variable(ref).write_mutex();
    std::sort(held_.begin(), held_.begin() + count_, std::less<>());
    count_ = int(std::unique(held_.begin(), held_.begin() + count_) - held_.begin());
    for (int i = 0; i < count_; ++i) held_[size_t(i)]->lock();
  }
  ~WriteLocks() {
    for (int i = count_ - 1; i >= 0; --i) held_[size_t(i)]->unlock();
  }
  WriteLocks(const WriteLocks&) = delete;
  WriteLocks& operator=(const WriteLocks&) = delete;

 private:
  std::array<std::mutex*, 4> held_{};
  int count_ = 0;
};

}  // namespace capstan
