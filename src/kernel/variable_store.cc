#include "kernel/variable_store.h"

#include <algorithm>

namespace capstan {

bool Variable::initialized() const {
  std::lock_guard lock(mutex_);
  return value_.valid();
}

Tensor Variable::value() const {
  std::lock_guard lock(mutex_);
  if (!value_.valid()) {
    throw failed_precondition(
        "Attempting to use uninitialized value {}: run its initializer (or restore a checkpoint) first",
        name_);
  }
  return value_;
}

void Variable::assign(const Tensor& value,
                      const std::function<Tensor(DType, const Shape&)>& allocate) {
  if (value.dtype() != dtype_) {
    throw invalid_argument("variable {} holds {}, it cannot be assigned a value of {}", name_,
                           dtype_name(dtype_), dtype_name(value.dtype()));
  }
  // Strings are never changed in place: a reader at the same time would follow a freed pointer.
  if (dtype_ == DType::kString) return adopt(value.clone());
  Tensor target;
  {
    std::lock_guard lock(mutex_);
    target = value_;
  }
  if (target.valid() && target.shape() == value.shape()) {
    if (target.raw() != value.raw()) copy_live(target.raw(), value.raw(), value.bytes());
    return;
  }
  Tensor fresh = allocate ? allocate(dtype_, value.shape()) : Tensor(dtype_, value.shape());
  copy_live(fresh.raw(), value.raw(), value.bytes());
  adopt(std::move(fresh));
}

void Variable::adopt(Tensor value) {
  Tensor old;  // freed outside the lock
  std::lock_guard lock(mutex_);
  old = std::exchange(value_, std::move(value));
  generation_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<Variable> VariableStore::get(std::string_view container, std::string_view name,
                                             DType dtype) {
  std::lock_guard lock(mutex_);
  auto& variable = variables_[{std::string(container), std::string(name)}];
  if (!variable) variable = std::make_shared<Variable>(std::string(name), dtype);
  if (variable->dtype() != dtype) {
    throw invalid_argument("variable {} exists as {}, it cannot also be {}: give one of them another "
                           "name or shared_name",
                           name, dtype_name(variable->dtype()), dtype_name(dtype));
  }
  return variable;
}

std::vector<std::shared_ptr<Variable>> VariableStore::all() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Variable>> all;
  for (const auto& [key, variable] : variables_) all.push_back(variable);
  return all;
}

void VariableStore::reset(const std::vector<std::string>& containers) {
  std::lock_guard lock(mutex_);
  std::erase_if(variables_, [&](const auto& item) {
    return containers.empty() || std::ranges::count(containers, item.first.first) > 0;
  });
}

#if defined(__SANITIZE_THREAD__)
// The race is the contract of shared weights; volatile keeps the loop from becoming a memcpy, which
// the sanitizer would watch.
__attribute__((no_sanitize("thread"), noinline)) void copy_live(void* to, const void* from,
                                                               size_t bytes) {
  auto* target = static_cast<volatile char*>(to);
  const auto* source = static_cast<const volatile char*>(from);
  for (size_t i = 0; i < bytes; ++i) target[i] = source[i];
}
#else
void copy_live(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
#endif

}  // namespace capstan
