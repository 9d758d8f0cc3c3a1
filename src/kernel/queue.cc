#include "kernel/queue.h"

#include <algorithm>

namespace capstan {
namespace {

void call_all(std::vector<std::function<void()>>& calls) {
  for (auto& call : calls) call();
}

// Rows of a batch are views: they share the batch's bytes.
std::deque<Tuple> rows_of(const Tuple& batch) {
  const int64_t count = batch.front().shape()[0];
  std::deque<Tuple> rows(static_cast<size_t>(count));
  for (const Tensor& part : batch) {
    const Shape shape(part.shape().dims().subspan(1));
    const size_t stride = size_t(shape.elements()) * dtype_size(part.dtype());
    auto* bytes = const_cast<char*>(static_cast<const char*>(part.raw()));
    for (int64_t i = 0; i < count; ++i) {
      rows[size_t(i)].emplace_back(part.dtype(), shape, bytes + size_t(i) * stride, part.owner());
    }
  }
  return rows;
}

void copy_elements(const Tensor& from, Tensor& to, int64_t at) {
  if (from.dtype() == DType::kString) {
    std::copy_n(from.data<std::string>(), from.size(), to.data<std::string>() + at);
  } else if (from.bytes() > 0) {
    std::memcpy(to.data<char>() + size_t(at) * dtype_size(to.dtype()), from.raw(), from.bytes());
  }
}

Tensor stack_part(const std::vector<Tuple>& rows, size_t part, DType dtype,
                  const Shape& row_shape) {
  Shape shape{int64_t(rows.size())};
  for (int64_t dim : row_shape.dims()) shape.push_back(dim);
  Tensor out(dtype, shape);
  for (size_t i = 0; i < rows.size(); ++i) {
    copy_elements(rows[i][part], out, int64_t(i) * row_shape.elements());
  }
  return out;
}

Tuple stack(const std::vector<Tuple>& rows, const std::vector<DType>& types,
            const std::vector<Shape>& shapes) {
  Tuple out;
  for (size_t part = 0; part < types.size(); ++part) {
    out.push_back(stack_part(rows, part, types[part], shapes[part]));
  }
  return out;
}

}  // namespace

FifoQueue::FifoQueue(std::string name, int64_t capacity, std::vector<DType> types,
                     std::vector<Shape> shapes)
    : name_(std::move(name)),
      capacity_(capacity),
      types_(std::move(types)),
      shapes_(std::move(shapes)) {
  if (!shapes_.empty() && shapes_.size() != types_.size()) {
    throw invalid_argument("queue '{}' has {} components but {} shapes", name_, types_.size(),
                           shapes_.size());
  }
}

void FifoQueue::check(const Tuple& tuple, bool batch) const {
  if (tuple.size() != types_.size()) {
    throw invalid_argument("queue '{}' takes {} components, not {}", name_, types_.size(),
                           tuple.size());
  }
  for (size_t i = 0; i < tuple.size(); ++i) {
    const Shape& shape = tuple[i].shape();
    if (tuple[i].dtype() != types_[i]) {
      throw invalid_argument("component {} of queue '{}' is {}, not {}", i, name_,
                             dtype_name(types_[i]), dtype_name(tuple[i].dtype()));
    }
    if (batch && (shape.rank() == 0 || shape[0] != tuple[0].shape()[0])) {
      throw invalid_argument(
          "component {} of a batch for queue '{}' has shape {}: all components "
          "need the same number of rows along dimension 0",
          i, name_, shape);
    }
    const Shape row = batch ? Shape(shape.dims().subspan(1)) : shape;
    if (!shapes_.empty() && !row.compatible_with(shapes_[i])) {
      throw invalid_argument(
          "Shape mismatch in tuple component {} of queue '{}'. Expected {}, got {}", i, name_,
          shapes_[i], row);
    }
  }
}

void FifoQueue::enqueue(Tuple tuple, Cancellation* cancellation, Done done) {
  check(tuple, false);
  Producer producer{.done = std::move(done), .cancellation = cancellation};
  producer.rows.push_back(std::move(tuple));
  start(std::move(producer));
}

void FifoQueue::enqueue_many(Tuple batch, Cancellation* cancellation, Done done) {
  check(batch, true);
  if (batch.front().shape()[0] == 0) return done(nullptr);
  start(Producer{.rows = rows_of(batch), .done = std::move(done), .cancellation = cancellation});
}

void FifoQueue::dequeue(Cancellation* cancellation, DoneTuple done) {
  start(Consumer{.done = std::move(done), .cancellation = cancellation});
}

void FifoQueue::dequeue_many(int64_t n, bool up_to, Cancellation* cancellation, DoneTuple done) {
  if (n < 0) throw invalid_argument("cannot dequeue {} elements from queue '{}'", n, name_);
  if (shapes_.empty() || !std::ranges::all_of(shapes_, &Shape::fully_defined)) {
    throw invalid_argument(
        "queue '{}': FIFOQueue's DequeueMany and DequeueUpTo require the components "
        "to have specified shapes: give the queue its shapes",
        name_);
  }
  if (n == 0) return done(nullptr, stack({}, types_, shapes_));
  start(Consumer{.wanted = n,
                 .single = false,
                 .up_to = up_to,
                 .done = std::move(done),
                 .cancellation = cancellation});
}

void FifoQueue::start(Producer producer) {
  Calls calls;
  {
    std::lock_guard lock(mutex_);
    const uint64_t id = producer.id = next_id_++;
    producers_.push_back(std::move(producer));
    serve(calls);
    // Only what really waits needs to be cancellable; it is then the last of the list.
    if (!producers_.empty() && producers_.back().id == id && producers_.back().cancellation) {
      Producer& waiting = producers_.back();
      waiting.cancel_id = waiting.cancellation->add([weak = weak_from_this(), id] {
        if (auto self = weak.lock()) static_cast<FifoQueue&>(*self).cancel_producer(id);
      });
      if (waiting.cancel_id == 0) {
        finish(waiting, cancelled("Enqueue operation was cancelled"), calls);
        producers_.pop_back();
      }
    }
  }
  call_all(calls);
}

void FifoQueue::start(Consumer consumer) {
  Calls calls;
  {
    std::lock_guard lock(mutex_);
    const uint64_t id = consumer.id = next_id_++;
    consumers_.push_back(std::move(consumer));
    serve(calls);
    if (!consumers_.empty() && consumers_.back().id == id && consumers_.back().cancellation) {
      Consumer& waiting = consumers_.back();
      waiting.cancel_id = waiting.cancellation->add([weak = weak_from_this(), id] {
        if (auto self = weak.lock()) static_cast<FifoQueue&>(*self).cancel_consumer(id);
      });
      if (waiting.cancel_id == 0) {
        give_back(waiting);
        finish(waiting, cancelled("Dequeue operation was cancelled"), calls);
        consumers_.pop_back();
        serve(calls);
      }
    }
  }
  call_all(calls);
}

void FifoQueue::serve(Calls& calls) {
  bool moved = true;
  while (moved) {
    moved = serve_producers(calls);
    moved |= serve_consumers(calls);
  }
}

bool FifoQueue::serve_producers(Calls& calls) {
  bool moved = false;
  while (!producers_.empty()) {
    Producer& first = producers_.front();
    if (closed_) {
      finish(first,
             first.closes ? cancelled("Queue '{}' is already closed.", name_)
                          : cancelled("FIFOQueue '{}' is closed.", name_),
             calls);
    } else {
      for (; !first.rows.empty() && !full(); moved = true) {
        items_.push_back(std::move(first.rows.front()));
        first.rows.pop_front();
      }
      if (!first.rows.empty()) return moved;
      closed_ = first.closes;
      finish(first, std::nullopt, calls);
    }
    producers_.pop_front();
    moved = true;
  }
  return moved;
}

bool FifoQueue::serve_consumers(Calls& calls) {
  bool moved = false;
  while (!consumers_.empty()) {
    Consumer& first = consumers_.front();
    for (; !items_.empty() && int64_t(first.got.size()) < first.wanted; moved = true) {
      first.got.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    const auto got = int64_t(first.got.size());
    const bool whole = got == first.wanted || (closed_ && first.up_to && got > 0);
    if (!whole && !closed_) return moved;
    if (whole) {
      finish(first, std::nullopt, calls);
    } else {
      give_back(first);
      finish(first,
             out_of_range("FIFOQueue '{}' is closed and has insufficient elements (requested {}, "
                          "current size {})",
                          name_, first.wanted, got),
             calls);
    }
    consumers_.pop_front();
    // What was given back must not go round for ever: only a finished consumer counts as a move.
    moved = true;
  }
  return moved;
}

void FifoQueue::finish(Producer& producer, std::optional<Error> error, Calls& calls) {
  calls.push_back([done = std::move(producer.done), error = std::move(error),
                   cancellation = producer.cancellation, id = producer.cancel_id] {
    if (id != 0) cancellation->remove(id);
    done(error ? &*error : nullptr);
  });
}

void FifoQueue::finish(Consumer& consumer, std::optional<Error> error, Calls& calls) {
  calls.push_back([this, done = std::move(consumer.done), error = std::move(error),
                   single = consumer.single, got = std::move(consumer.got),
                   cancellation = consumer.cancellation, id = consumer.cancel_id]() mutable {
    if (id != 0) cancellation->remove(id);
    Tuple tuple;
    try {
      if (!error) tuple = single ? std::move(got.front()) : stack(got, types_, shapes_);
    } catch (...) {
      error = current_error();  // no memory for the batch
    }
    done(error ? &*error : nullptr, std::move(tuple));
  });
}

void FifoQueue::give_back(Consumer& consumer) {
  items_.insert(items_.begin(), std::make_move_iterator(consumer.got.begin()),
                std::make_move_iterator(consumer.got.end()));
  consumer.got.clear();
}

void FifoQueue::cancel_producer(uint64_t id) {
  Calls calls;
  {
    std::lock_guard lock(mutex_);
    auto found = std::ranges::find(producers_, id, &Producer::id);
    if (found == producers_.end()) return;
    finish(*found, cancelled("Enqueue operation was cancelled"), calls);
    producers_.erase(found);
    serve(calls);
  }
  call_all(calls);
}

void FifoQueue::cancel_consumer(uint64_t id) {
  Calls calls;
  {
    std::lock_guard lock(mutex_);
    auto found = std::ranges::find(consumers_, id, &Consumer::id);
    if (found == consumers_.end()) return;
    give_back(*found);
    finish(*found, cancelled("Dequeue operation was cancelled"), calls);
    consumers_.erase(found);
    serve(calls);
  }
  call_all(calls);
}

void FifoQueue::cancel_producers(Calls& calls) {
  for (Producer& producer : producers_) {
    finish(producer, cancelled("Enqueue operation was cancelled"), calls);
  }
  producers_.clear();
}

void FifoQueue::close(bool cancel_pending_enqueues, Cancellation* cancellation, Done done) {
  if (!cancel_pending_enqueues) {
    return start(Producer{.closes = true, .done = std::move(done), .cancellation = cancellation});
  }
  Calls calls;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    cancel_producers(calls);
    serve(calls);
  }
  call_all(calls);
  done(nullptr);
}

int64_t FifoQueue::size() const {
  std::lock_guard lock(mutex_);
  return int64_t(items_.size());
}

bool FifoQueue::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace capstan
