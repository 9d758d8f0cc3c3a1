#include "kernel/cancellation.h"

#include <vector>

namespace capstan {

uint64_t Cancellation::add(std::function<void()> on_cancel) {
  std::lock_guard lock(mutex_);
  if (cancelled_) return 0;
  callbacks_.emplace(next_, std::move(on_cancel));
  return next_++;
}

void Cancellation::remove(uint64_t id) {
  std::function<void()> gone;    // what the callback holds may run code of its own when it goes
  std::lock_guard lock(mutex_);  // released before `gone`
  auto found = callbacks_.find(id);
  if (found == callbacks_.end()) return;
  gone = std::move(found->second);
  callbacks_.erase(found);
}

void Cancellation::cancel() {
  std::unordered_map<uint64_t, std::function<void()>> callbacks;
  {
    std::lock_guard lock(mutex_);
    if (cancelled_) return;
    cancelled_ = true;
    callbacks.swap(callbacks_);
  }
  for (auto& [id, on_cancel] : callbacks) on_cancel();
}

bool Cancellation::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

}  // namespace capstan
