#include "net/receive_budget.h"

#include <utility>

namespace capstan {

std::shared_ptr<void> ReceiveBudget::take(size_t bytes, bool insists) {
  std::lock_guard lock(mutex_);
  if (!insists && in_use_ > 0 && in_use_ + bytes > limit_) {
    refused_ = true;
    return nullptr;
  }
  in_use_ += bytes;
  return {static_cast<void*>(this),
          [self = shared_from_this(), bytes](void*) { self->give_back(bytes); }};
}

void ReceiveBudget::give_back(size_t bytes) {
  std::lock_guard lock(mutex_);
  in_use_ -= bytes;
  if (std::exchange(refused_, false) && on_room_) on_room_();
}

void ReceiveBudget::close() {
  std::lock_guard lock(mutex_);
  on_room_ = nullptr;
}

}  // namespace capstan
