#pragma once

// The mutable state of one task: named tensors that outlive a step. A parameter server is a task
// whose store is not empty; it has no code of its own.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/variable_memory.h"

namespace capstan {

// One variable. Updates are in place: without `use_locking` a reader may see a half-applied one.
class Variable {
 public:
  Variable(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }

  bool initialized() const;
  // The live tensor (shares the bytes). Throws FailedPrecondition naming the variable when unset.
  Tensor value() const;
  // Copies into the present buffer where the shape is the same and no peer looks at it, else into a
  // new one (a new generation: whoever still holds the old tensor keeps the old bytes).
  void assign(const Tensor& value, VariableMemory& memory);
  // Takes the tensor itself as the value; its bytes must belong to nobody else.
  void adopt(Tensor value);
  // Grows with every new buffer; whoever keeps value() compares this, without a lock.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // The live tensor, ready to be changed until memory.end_write(): a copy takes its place first
  // where a peer looks at it.
  Tensor begin_write(VariableMemory& memory);

  // Held by writers with use_locking=true during their update; never by readers.
  std::mutex& write_mutex() { return write_mutex_; }

 private:
  const std::string name_;
  const DType dtype_;
  mutable std::mutex mutex_;  // guards the handle, not the bytes
  Tensor value_;
  std::atomic<uint64_t> generation_ = 0;
  std::mutex write_mutex_;
  std::mutex replace_mutex_;  // one writer makes the copy, the others use it
};

// A variable's bytes while they are changed in place.
class VariableWrite {
 public:
  VariableWrite(Variable& variable, VariableMemory& memory)
      : memory_(memory), value_(variable.begin_write(memory)) {}
  ~VariableWrite() { memory_.end_write(value_); }
  VariableWrite(const VariableWrite&) = delete;
  VariableWrite& operator=(const VariableWrite&) = delete;

  const Shape& shape() const { return value_.shape(); }
  Tensor& value() { return value_; }
  template <class T>
  T* data() {
    return value_.data<T>();
  }

 private:
  VariableMemory& memory_;
  Tensor value_;
};

// Thread-safe.
class VariableStore {
 public:
  // The variable under (container, name), made when new. Throws InvalidArgument naming both types
  // when it exists with another dtype.
  std::shared_ptr<Variable> get(std::string_view container, std::string_view name, DType dtype);
  std::vector<std::shared_ptr<Variable>> all() const;
  // Forgets the variables of these containers (all when empty).
  void reset(const std::vector<std::string>& containers);

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Variable>> variables_;
};

}  // namespace capstan
