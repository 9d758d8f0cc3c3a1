#pragma once

// The mutable state of one task: named tensors that outlive a step. A parameter server is a task
// whose store is not empty; it has no code of its own.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/variable_memory.h"

namespace capstan {

// What a variable's bytes lie in, and who is at them. Beside a writer there are no readers but
// writers, who are done with reading.
struct VariableBuffer {
  explicit VariableBuffer(Tensor v) : value(std::move(v)) {}
  Tensor value;
  std::mutex mutex;  // guards the rest, not the bytes
  int readers = 0;   // runs that borrow it
  int writers = 0;
  bool retired = false;  // a copy takes its place: nobody writes to it any more
};

// A run's word that it looks at a buffer more than once: until the loan ends, other runs write to a
// copy instead.
class VariableLoan {
 public:
  // The buffer counts it as a reader already.
  explicit VariableLoan(std::shared_ptr<VariableBuffer> buffer) : buffer_(std::move(buffer)) {}
  ~VariableLoan() {
    if (!buffer_) return;
    std::lock_guard lock(buffer_->mutex);
    --buffer_->readers;
  }
  VariableLoan(VariableLoan&&) = default;
  VariableLoan& operator=(VariableLoan&&) = delete;

  const VariableBuffer* buffer() const { return buffer_.get(); }
  const Tensor& value() const { return buffer_->value; }

 private:
  std::shared_ptr<VariableBuffer> buffer_;
};

// One variable. Updates are in place: without `use_locking` a reader may see a half-applied one.
class Variable {
 public:
  using Loans = std::span<const VariableLoan>;

  Variable(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }

  bool initialized() const;
  // The live tensor (shares the bytes). Throws FailedPrecondition naming the variable when unset.
  Tensor value() const;
  // Copies into the present buffer where the shape is the same and nobody else looks at it, else
  // into a new one (a new generation: whoever still holds the old tensor keeps the old bytes).
  void assign(const Tensor& value, VariableMemory& memory, Loans own = {});
  // Takes the tensor itself as the value; its bytes must belong to nobody else.
  void adopt(Tensor value);
  // Grows with every new buffer; whoever keeps value() compares this, without a lock.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // The present buffer; nothing while somebody changes it. Throws like value().
  std::optional<VariableLoan> borrow() const;
  // The live buffer, to be changed until end_write(): a copy takes its place first where a peer, or
  // a run that has another loan than the writer's own, looks at it.
  std::shared_ptr<VariableBuffer> begin_write(VariableMemory& memory, Loans own);
  static void end_write(VariableBuffer& buffer, VariableMemory& memory);

  // Held by writers with use_locking=true during their update; never by readers.
  std::mutex& write_mutex() { return write_mutex_; }

 private:
  const std::string name_;
  const DType dtype_;
  std::shared_ptr<VariableBuffer> buffer() const;
  void replace(std::shared_ptr<VariableBuffer> buffer);
  static bool try_begin(VariableBuffer& buffer, VariableMemory& memory, Loans own);
  static bool begin_or_retire(VariableBuffer& buffer, VariableMemory& memory, Loans own);

  mutable std::mutex mutex_;  // guards the handle, not the bytes
  std::shared_ptr<VariableBuffer> buffer_;
  std::atomic<uint64_t> generation_ = 0;
  std::mutex write_mutex_;
  std::mutex replace_mutex_;  // one writer makes the copy, the others, and assigns, wait for it
};

// A variable's bytes while they are changed in place.
class VariableWrite {
 public:
  VariableWrite(Variable& variable, VariableMemory& memory, Variable::Loans own = {})
      : memory_(memory), buffer_(variable.begin_write(memory, own)) {}
  ~VariableWrite() { Variable::end_write(*buffer_, memory_); }
  VariableWrite(const VariableWrite&) = delete;
  VariableWrite& operator=(const VariableWrite&) = delete;

  const Shape& shape() const { return buffer_->value.shape(); }
  Tensor& value() { return buffer_->value; }
  template <class T>
  T* data() {
    return buffer_->value.data<T>();
  }

 private:
  VariableMemory& memory_;
  const std::shared_ptr<VariableBuffer> buffer_;
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

  // Once a variable takes a value of another shape than its node declares, steps no longer trust
  // what nodes declare.
  void note_reshaped() { reshaped_.store(true, std::memory_order_release); }
  bool reshaped() const { return reshaped_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> reshaped_{false};
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Variable>> variables_;
};

}  // namespace capstan
