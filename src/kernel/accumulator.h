#pragma once

// Gradients gathered from many workers, as tf.ConditionalAccumulator: a gradient older than the
// accumulator's global step is dropped; take waits for a number of them and returns the mean.

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "kernel/buffer_pool.h"
#include "kernel/cancellation.h"
#include "kernel/resource.h"

namespace capstan {

// Thread-safe. Callbacks run on the thread that made them possible, outside the lock. Owned by a
// shared_ptr. float and double only, as in TensorFlow.
class Accumulator : public Resource {
 public:
  enum class Reduction { kMean, kSum };
  using DoneTake = std::function<void(const Error*, Tensor)>;

  Accumulator(std::string name, DType dtype, Shape shape, Reduction reduction);

  std::string_view kind() const override { return "ConditionalAccumulator"; }
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  // Adds the gradient, on the pool's threads, unless local_step is below the global step: then it
  // is dropped.
  void apply(int64_t local_step, const Tensor& gradient, ThreadPool& pool);
  // Waits for `required` gradients, then hands out their mean (or sum), clears them and counts the
  // global step up by one. Takes are served in the order in which they came.
  void take(int64_t required, Cancellation* cancellation, DoneTake done);
  int64_t accumulated() const;
  // Also a step below the present one is taken, as in TensorFlow.
  void set_global_step(int64_t step);

 private:
  struct Waiter {
    uint64_t id = 0;
    int64_t required = 1;
    DoneTake done;
    Cancellation* cancellation = nullptr;
    uint64_t cancel_id = 0;
  };
  using Calls = std::vector<std::function<void()>>;

  void check(const Tensor& gradient) const;
  bool completes() const;
  template <class T>
  void gather(const Tensor& gradient, ThreadPool& pool);
  template <class T>
  void average();
  void serve(Calls& calls);
  void serve_first(Calls& calls);
  void cancel(uint64_t id);
  static void fail(Waiter& waiter, Error error, Calls& calls);

  const std::string name_;
  const DType dtype_;
  const Shape shape_;
  const Reduction reduction_;
  const std::shared_ptr<BufferPool> buffers_;
  mutable std::mutex mutex_;
  Tensor sum_;            // or the first gradient, where its owner keeps it
  bool divided_ = false;  // sum_ is a mean already
  int64_t count_ = 0;
  int64_t global_step_ = 0;
  uint64_t next_id_ = 1;
  std::deque<Waiter> waiters_;
};

}  // namespace capstan
