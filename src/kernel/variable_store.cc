#include "kernel/variable_store.h"

#include <algorithm>

#include "kernel/shared_bytes.h"

namespace capstan {

bool Variable::initialized() const {
  std::lock_guard lock(mutex_);
  return value_.valid();
}

Tensor Variable::value() const {
  std::lock_guard lock(mutex_);
  if (!value_.valid()) {
    throw failed_precondition(
        "Attempting to use uninitialized value {}: run its initializer (or restore a checkpoint) "
        "first",
        name_);
  }
  return value_;
}

void Variable::assign(const Tensor& value, VariableMemory& memory) {
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
  if (target.valid() && target.raw() == value.raw()) return;
  if (target.valid() && target.shape() == value.shape() && memory.begin_write(target)) {
    copy_shared(value, target);
    return memory.end_write(target);
  }
  Tensor fresh = memory.allocate(dtype_, value.shape());
  copy_shared(value, fresh);
  adopt(std::move(fresh));
}

Tensor Variable::begin_write(VariableMemory& memory) {
  Tensor live = value();
  if (memory.begin_write(live)) return live;
  std::lock_guard lock(replace_mutex_);
  live = value();
  if (memory.begin_write(live)) return live;
  Tensor copy = memory.allocate(dtype_, live.shape());
  copy_shared(live, copy);
  CAPSTAN_CHECK(memory.begin_write(copy));
  adopt(copy);
  return copy;
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
    throw invalid_argument(
        "variable {} exists as {}, it cannot also be {}: give one of them another "
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

}  // namespace capstan
