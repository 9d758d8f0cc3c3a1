#pragma once

// Bounds the memory of large messages that a server receives, or has received and still works on.
// Peers that would go beyond it wait for their turn: two workers that push a large gradient at the
// same time cost the memory of one.

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

namespace capstan {

// Thread-safe.
class ReceiveBudget : public std::enable_shared_from_this<ReceiveBudget> {
 public:
  // on_room is called, on any thread, whenever somebody who was refused may ask again.
  ReceiveBudget(size_t limit, std::function<void()> on_room)
      : limit_(limit), on_room_(std::move(on_room)) {}

  // To be held as long as the memory is; null when there is no room. Whoever is alone is never
  // refused, whatever the size, nor is who `insists`.
  std::shared_ptr<void> take(size_t bytes, bool insists);
  // on_room is not called any more.
  void close();

 private:
  void give_back(size_t bytes);

  const size_t limit_;
  std::mutex mutex_;
  std::function<void()> on_room_;
  size_t in_use_ = 0;
  bool refused_ = false;
};

}  // namespace capstan
