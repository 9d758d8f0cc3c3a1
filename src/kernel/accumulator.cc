#include "kernel/accumulator.h"

#include <algorithm>

namespace capstan {
namespace {

void call_all(std::vector<std::function<void()>>& calls) {
  for (auto& call : calls) call();
}

template <class T>
void add_to(Tensor& sum, const Tensor& gradient) {
  T* out = sum.data<T>();
  const T* in = gradient.data<T>();
  for (int64_t i = 0; i < sum.size(); ++i) out[i] += in[i];
}

template <class T>
void divide_by(Tensor& sum, int64_t count) {
  T* out = sum.data<T>();
  for (int64_t i = 0; i < sum.size(); ++i) out[i] /= T(count);
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

void Accumulator::apply(int64_t local_step, const Tensor& gradient) {
  Calls calls;
  {
    std::lock_guard lock(mutex_);
    if (local_step < global_step_) return;
    check(gradient);
    if (count_ == 0) {
      sum_ = buffers_->take(dtype_, gradient.shape());
      if (gradient.bytes() > 0) std::memcpy(sum_.raw(), gradient.raw(), gradient.bytes());
    } else {
      dtype_ == DType::kFloat ? add_to<float>(sum_, gradient) : add_to<double>(sum_, gradient);
    }
    ++count_;
    serve(calls);
  }
  call_all(calls);
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
    dtype_ == DType::kFloat ? divide_by<float>(sum_, count_) : divide_by<double>(sum_, count_);
  }
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
