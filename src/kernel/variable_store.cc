#include "kernel/variable_store.h"

#include <algorithm>

#include "kernel/shared_bytes.h"

namespace capstan {

bool Variable::initialized() const {
  std::lock_guard lock(mutex_);
  return buffer_ != nullptr;
}

std::shared_ptr<VariableBuffer> Variable::buffer() const {
  std::lock_guard lock(mutex_);
  if (!buffer_) {
    throw failed_precondition(
        "Attempting to use uninitialized value {}: run its initializer (or restore a checkpoint) "
        "first",
        name_);
  }
  return buffer_;
}

Tensor Variable::value() const { return buffer()->value; }

std::optional<VariableLoan> Variable::borrow() const {
  std::shared_ptr<VariableBuffer> present = buffer();
  {
    std::lock_guard lock(present->mutex);
    if (present->writers > 0) return std::nullopt;
    ++present->readers;
  }
  return VariableLoan(std::move(present));
}

namespace {

// Under the buffer's lock.
bool begin_locked(VariableBuffer& buffer, VariableMemory& memory, Variable::Loans own) {
  if (buffer.retired) return false;
  int readers = buffer.readers;
  for (const VariableLoan& loan : own) readers -= loan.buffer() == &buffer;
  if (buffer.writers == 0 && readers > 0) return false;
  if (!memory.begin_write(buffer.value)) return false;
  ++buffer.writers;
  return true;
}

}  // namespace

bool Variable::try_begin(VariableBuffer& buffer, VariableMemory& memory, Loans own) {
  std::lock_guard lock(buffer.mutex);
  return begin_locked(buffer, memory, own);
}

// From a buffer that is retired a copy can be made in peace.
bool Variable::begin_or_retire(VariableBuffer& buffer, VariableMemory& memory, Loans own) {
  std::lock_guard lock(buffer.mutex);
  if (begin_locked(buffer, memory, own)) return true;
  buffer.retired = true;
  return false;
}

std::shared_ptr<VariableBuffer> Variable::begin_write(VariableMemory& memory, Loans own) {
  std::shared_ptr<VariableBuffer> present = buffer();
  if (try_begin(*present, memory, own)) return present;
  std::lock_guard lock(replace_mutex_);
  present = buffer();
  if (begin_or_retire(*present, memory, own)) return present;
  Tensor copy = memory.allocate(dtype_, present->value.shape());
  copy_shared(present->value, copy);
  auto fresh = std::make_shared<VariableBuffer>(std::move(copy));
  CAPSTAN_CHECK(try_begin(*fresh, memory, {}));
  replace(fresh);
  return fresh;
}

void Variable::end_write(VariableBuffer& buffer, VariableMemory& memory) {
  std::lock_guard lock(buffer.mutex);
  memory.end_write(buffer.value);
  --buffer.writers;
}

void Variable::assign(const Tensor& value, VariableMemory& memory, Loans own) {
  if (value.dtype() != dtype_) {
    throw invalid_argument("variable {} holds {}, it cannot be assigned a value of {}", name_,
                           dtype_name(dtype_), dtype_name(value.dtype()));
  }
  // Strings are never changed in place: a reader at the same time would follow a freed pointer.
  if (dtype_ == DType::kString) return adopt(value.clone());
  std::shared_ptr<VariableBuffer> present;
  {
    std::lock_guard lock(mutex_);
    present = buffer_;
  }
  if (present && present->value.raw() == value.raw()) return;
  if (present && present->value.shape() == value.shape() && try_begin(*present, memory, own)) {
    copy_shared(value, present->value);
    return end_write(*present, memory);
  }
  Tensor fresh = memory.allocate(dtype_, value.shape());
  copy_shared(value, fresh);
  // A copy of the old value that is being made must not come after it.
  std::lock_guard lock(replace_mutex_);
  adopt(std::move(fresh));
}

void Variable::adopt(Tensor value) { replace(std::make_shared<VariableBuffer>(std::move(value))); }

void Variable::replace(std::shared_ptr<VariableBuffer> buffer) {
  std::shared_ptr<VariableBuffer> old;  // freed outside the lock
  std::lock_guard lock(mutex_);
  old = std::exchange(buffer_, std::move(buffer));
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
  if (variables_.empty()) reshaped_.store(false, std::memory_order_release);
}

}  // namespace capstan
