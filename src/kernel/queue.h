#pragma once

// Queues of tensor tuples, as tf.FIFOQueue. A waiting operation is a record in a list, never a
// thread: its callback runs when it can be served, when the queue closes, or when it is cancelled.

#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernel/cancellation.h"
#include "kernel/resource.h"

namespace capstan {

using Tuple = std::vector<Tensor>;

// Thread-safe. Callbacks run on the thread that made them possible, outside the lock. Owned by a
// shared_ptr; tuples handed in must own their bytes.
class FifoQueue : public Resource {
 public:
  using Done = std::function<void(const Error*)>;
  using DoneTuple = std::function<void(const Error*, Tuple)>;

  // capacity < 0: unbounded. shapes may be empty (any).
  FifoQueue(std::string name, int64_t capacity, std::vector<DType> types,
            std::vector<Shape> shapes);

  std::string_view kind() const override { return "FIFOQueue"; }
  const std::string& name() const { return name_; }
  const std::vector<DType>& types() const { return types_; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  int64_t capacity() const { return capacity_; }

  // Throws InvalidArgument for a tuple of other types or shapes.
  void enqueue(Tuple tuple, Cancellation* cancellation, Done done);
  void enqueue_many(Tuple batch, Cancellation* cancellation, Done done);  // rows along dimension 0
  void dequeue(Cancellation* cancellation, DoneTuple done);
  void dequeue_many(int64_t n, bool up_to, Cancellation* cancellation, DoneTuple done);
  // Later enqueues fail with Cancelled; waiting dequeues fail with OutOfRange once it is empty.
  // Takes effect, as in TensorFlow, when the enqueues that wait now have gone in, or at once when
  // they are to be cancelled. Closing twice (without cancelling) fails with Cancelled.
  void close(
      bool cancel_pending_enqueues, Cancellation* cancellation = nullptr,
      Done done = [](const Error*) {});
  int64_t size() const;
  bool closed() const;

 private:
  // An enqueue, or a close that waits for the enqueues before it.
  struct Producer {
    uint64_t id = 0;
    std::deque<Tuple> rows;  // what still has to go in
    bool closes = false;
    Done done;
    Cancellation* cancellation = nullptr;
    uint64_t cancel_id = 0;
  };
  struct Consumer {
    uint64_t id = 0;
    int64_t wanted = 1;
    bool single = true, up_to = false;
    std::vector<Tuple> got;
    DoneTuple done;
    Cancellation* cancellation = nullptr;
    uint64_t cancel_id = 0;
  };
  using Calls = std::vector<std::function<void()>>;

  void start(Producer producer);
  void start(Consumer consumer);
  void serve(Calls& calls);  // moves what can move; completed callbacks go to `calls`
  bool serve_producers(Calls& calls);
  bool serve_consumers(Calls& calls);
  bool full() const { return capacity_ >= 0 && int64_t(items_.size()) >= capacity_; }
  void finish(Producer& producer, std::optional<Error> error, Calls& calls);
  void finish(Consumer& consumer, std::optional<Error> error, Calls& calls);
  void give_back(Consumer& consumer);
  void check(const Tuple& tuple, bool batch) const;
  void cancel_producer(uint64_t id);
  void cancel_consumer(uint64_t id);
  void cancel_producers(Calls& calls);

  const std::string name_;
  const int64_t capacity_;
  const std::vector<DType> types_;
  const std::vector<Shape> shapes_;
  mutable std::mutex mutex_;
  std::deque<Tuple> items_;
  std::list<Producer> producers_;
  std::list<Consumer> consumers_;
  uint64_t next_id_ = 1;
  bool closed_ = false;
};

}  // namespace capstan
