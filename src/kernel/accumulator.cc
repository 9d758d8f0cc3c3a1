#include "kernel/accumulator.h"

#include <algorithm>
#include <bit>

namespace capstan {
namespace {

void call_all(std::vector<std::function<void()>>& calls) {
  for (auto& call : calls) call();
}

// Below this a thread costs more than it brings.
constexpr int64_t kPieceElements = 64 * 1024;

// Calls body(begin, end) for ranges that cover all elements.
template <class Body>
void for_ranges(int64_t elements, ThreadPool& pool, Body body) {
  pool.parallel_for((elements + kPieceElements - 1) / kPieceElements, [&](int64_t piece) {
    const int64_t begin = piece * kPieceElements;
    body(begin, std::min(elements, begin + kPieceElements));
  });
}

// Whether a product with the inverse has the bits of the quotient; it is faster.
bool inverts_exactly(int64_t count) { return std::has_single_bit(uint64_t(count)); }

template <class T>
void add(const Tensor& a, const Tensor& b, Tensor& sum, ThreadPool& pool) {
  const T *x = a.data<T>(), *y = b.data<T>();
  T* out = sum.data<T>();
  for_ranges(sum.size(), pool, [=](int64_t i, int64_t end) {
    for (; i < end; ++i) out[i] = x[i] + y[i];
  });
}

// The last addition and the division at once: the bytes go through the core only once.
template <class T>
void add_and_divide(const Tensor& a, const Tensor& b, int64_t count, Tensor& mean,
                    ThreadPool& pool) {
  const T *x = a.data<T>(), *y = b.data<T>();
  T* out = mean.data<T>();
  const T by = T(count), times = 1 / by;
  for_ranges(mean.size(), pool, [=](int64_t i, int64_t end) {
    if (inverts_exactly(count)) {
      for (; i < end; ++i) out[i] = (x[i] + y[i]) * times;
    } else {
      for (; i < end; ++i) out[i] = (x[i] + y[i]) / by;
    }
  });
}

template <class T>
void divide(const Tensor& a, T count, Tensor& mean) {
  const T* x = a.data<T>();
  T* out = mean.data<T>();
  for (int64_t i = 0; i < mean.size(); ++i) out[i] = x[i] / count;
}

}  // namespace

Accumulator::Accumulator(std::string name, DType dtype, Shape shape, Reduction reduction)
    : name_(std::move(name)),
      dtype_(dtype),
      shape_(std::move(shape)),
      reduction_(reduction),
      buffers_(std::make_shared<BufferPool>()) {
  if (!is_floating(dtype_) || dtype_ == DType::kHalf) {
    throw invalid_argument("accumulator '{}' cannot hold {}: use float32 or float64", name_,
                           dtype_name(dtype_));
  }
}

void Accumulator::check(const Tensor& gradient) const {
  if (gradient.dtype() != dtype_) {
    throw invalid_argument("accumulator '{}' holds {}, not {}", name_, dtype_name(dtype_),
                           dtype_name(gradient.dtype()));
  }
  const Shape& expected = count_ > 0 ? sum_.shape() : shape_;
  if (!gradient.shape().compatible_with(expected)) {
    throw invalid_argument("Shape mismatch: expected {}, got {} (accumulator '{}')", expected,
                           gradient.shape(), name_);
  }
}

void Accumulator::apply(int64_t local_step, const Tensor& gradient, ThreadPool& pool) {
  Calls calls;
  {
    std::lock_guard lock(mutex_);
    if (local_step < global_step_) return;
    check(gradient);
    dtype_ == DType::kFloat ? gather<float>(gradient, pool) : gather<double>(gradient, pool);
    ++count_;
    serve(calls);
  }
  call_all(calls);
}

// Whether the gradient after this one goes out at once, as a mean.
bool Accumulator::completes() const {
  return reduction_ == Reduction::kMean && !waiters_.empty() &&
         count_ + 1 >= waiters_.front().required;
}

template <class T>
void Accumulator::gather(const Tensor& gradient, ThreadPool& pool) {
  // What came from a peer does not change any more: the first gradient may stay where it is.
  if (count_ == 0 && !gradient.writable()) {
    sum_ = gradient;
    return;
  }
  Tensor out = count_ == 0 || !sum_.writable() ? buffers_->take(dtype_, gradient.shape()) : sum_;
  if (count_ == 0) {
    if (gradient.bytes() > 0) std::memcpy(out.raw(), gradient.raw(), gradient.bytes());
  } else if (completes()) {
    add_and_divide<T>(sum_, gradient, count_ + 1, out, pool);
    divided_ = true;
  } else {
    add<T>(sum_, gradient, out, pool);
  }
  sum_ = std::move(out);
}

template <class T>
void Accumulator::average() {
  if (divided_) return;
  Tensor out = sum_.writable() ? sum_ : buffers_->take(dtype_, sum_.shape());
  divide(sum_, T(count_), out);
  sum_ = std::move(out);
}

void Accumulator::take(int64_t required, Cancellation* cancellation, DoneTake done) {
  if (required <= 0) {
    throw invalid_argument("Argument num_required must be positive, but was {} (accumulator '{}')",
                           required, name_);
  }
  Calls calls;
  {
    std::lock_guard lock(mutex_);
    const uint64_t id = next_id_++;
    waiters_.push_back({id, required, std::move(done), cancellation});
    serve(calls);
    if (!waiters_.empty() && waiters_.back().id == id && cancellation) {
      Waiter& waiting = waiters_.back();
      waiting.cancel_id = cancellation->add([weak = weak_from_this(), id] {
        if (auto self = weak.lock()) static_cast<Accumulator&>(*self).cancel(id);
      });
      if (waiting.cancel_id == 0) {
        fail(waiting, cancelled("TakeGrad operation was cancelled"), calls);
        waiters_.pop_back();
      }
    }
  }
  call_all(calls);
}

void Accumulator::serve(Calls& calls) {
  while (!waiters_.empty() && count_ >= waiters_.front().required) {
    serve_first(calls);
    waiters_.pop_front();
  }
}

void Accumulator::serve_first(Calls& calls) {
  Waiter& first = waiters_.front();
  if (reduction_ == Reduction::kMean) {
    dtype_ == DType::kFloat ? average<float>() : average<double>();
  }
  divided_ = false;
  ++global_step_;
  count_ = 0;
  calls.push_back([done = std::move(first.done), value = std::exchange(sum_, Tensor()),
                   cancellation = first.cancellation, id = first.cancel_id] {
    if (id != 0) cancellation->remove(id);
    done(nullptr, value);
  });
}

void Accumulator::fail(Waiter& waiter, Error error, Calls& calls) {
  calls.push_back([done = std::move(waiter.done), error = std::move(error)] { done(&error, {}); });
}

void Accumulator::cancel(uint64_t id) {
  Calls calls;
  {
    std::lock_guard lock(mutex_);
    auto found = std::ranges::find(waiters_, id, &Waiter::id);
    if (found == waiters_.end()) return;
    fail(*found, cancelled("TakeGrad operation was cancelled"), calls);
    waiters_.erase(found);
    serve(calls);
  }
  call_all(calls);
}

int64_t Accumulator::accumulated() const {
  std::lock_guard lock(mutex_);
  return count_;
}

void Accumulator::set_global_step(int64_t step) {
  std::lock_guard lock(mutex_);
  global_step_ = step;
}

}  // namespace capstan
