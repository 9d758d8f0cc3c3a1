#pragma once

// What a kernel may touch. One context per node and run; built once per memory layout and reused,
// so that a step costs a kernel call and no bookkeeping.

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "graph/node.h"
#include "kernel/cancellation.h"
#include "kernel/task_state.h"
#include "tensor/tensor.h"

namespace capstan {

// What is the same for all kernels of one run.
struct RunContext {
  TaskState* task = nullptr;
  SessionState* session = nullptr;
  Cancellation* cancellation = nullptr;
  std::vector<VariableLoan> loans = {};  // what this run has borrowed
};

class KernelContext {
 public:
  const Node& node() const { return *node_; }
  int inputs() const { return int(inputs_.size()); }
  const Tensor& in(int i) const { return *inputs_[size_t(i)]; }

  // The one element of an input to which the row gives rank 0.
  template <class T>
  const T& scalar(int i) const {
    return *in(i).data<T>();
  }

  // Output i with this shape: the place that was laid out for it, else memory of its own. The bytes
  // are uninitialised. What the row's shape function announced is binding, for others have been
  // laid out by it: another shape is an Internal error.
  Tensor& out(int i, const Shape& shape) {
    const Place& place = outputs_[size_t(i)];
    if (place.laid_out && place.tensor->shape() == shape) return *place.tensor;
    return allocate(i, shape);
  }
  // Hands on a tensor (an input reshaped, a value taken from a queue). Not for an output that has a
  // place, which others look at: a row that hands on an input's tensor says so (OpDef::hands_on).
  // An output that is the reference of a variable is never set: it stands for the variable of the
  // first reference input.
  void set_out(int i, Tensor value) {
    const Place& place = outputs_[size_t(i)];
    const bool foreseen = !place.foreseen || *place.foreseen == value.shape();
    if (place.laid_out || !foreseen) refuse(i, value.shape());
    *place.tensor = std::move(value);
  }
  int outputs() const { return int(outputs_.size()); }

  // The variable behind reference input i; throws InvalidArgument for the reference of a queue.
  Variable& variable(int i) const {
    if (!variables_[size_t(i)]) no_variable(i);
    return *variables_[size_t(i)];
  }
  Variable::Loans loans() const { return run_->loans; }

  // What OpDef::prepare made for this node.
  template <class S>
  const S& state() const {
    return *static_cast<const S*>(state_.get());
  }

  TaskState& task() const { return *run_->task; }
  SessionState& session() const { return *run_->session; }
  ThreadPool& pool() const { return run_->task->pool; }
  Isa isa() const { return run_->task->isa; }
  Cancellation& cancellation() const { return *run_->cancellation; }

  // Blocking kernels only: exactly one of these is called, once, from any thread, after the outputs
  // are set. The context stays valid until then.
  void done();
  void fail(Error error) { take_finish()(&error); }

 private:
  friend class ContextBuilder;
  struct Place {
    Tensor* tensor;
    const Shape* foreseen;  // null unless it is known beforehand
    bool laid_out;          // the tensor is the place, in every run
  };
  Tensor& allocate(int i, const Shape& shape);
  [[noreturn]] void no_variable(int i) const;
  // Blocking kernels set their outputs on anybody's thread: theirs are told by done().
  void refuse(int i, const Shape& made) const;
  // Out of the context before it is called: it holds the program, which holds this context, and
  // whoever it wakes may use the context again at once.
  std::function<void(const Error*)> take_finish() { return std::exchange(finish_, nullptr); }

  const Node* node_ = nullptr;
  std::vector<const Tensor*> inputs_;
  std::vector<Place> outputs_;
  std::vector<std::shared_ptr<Variable>> variables_;  // by input; null where not a reference
  std::shared_ptr<void> state_;
  const RunContext* run_ = nullptr;
  std::function<void(const Error*)> finish_;
};

// The shape of an element-wise op's output; throws InvalidArgument for inputs that do not fit.
Shape elementwise_shape(const Node& node, std::span<const Tensor* const> inputs);

// Calls the kernel once the inputs have the ranks that its row asks for. Whoever knows that they do
// calls OpDef::kernel itself.
void run_checked(KernelContext& context);
void start_checked(KernelContext& context);  // the same for OpDef::blocking

// How exec (and run_kernel) fill a context; kernels never see it.
class ContextBuilder {
 public:
  explicit ContextBuilder(KernelContext& context) : c_(context) {}
  void node(const Node* node, std::shared_ptr<void> state) {
    c_.node_ = node, c_.state_ = std::move(state);
  }
  void input(const Tensor* value, std::shared_ptr<Variable> variable) {
    c_.inputs_.push_back(value);
    c_.variables_.push_back(std::move(variable));
  }
  // foreseen: its shape when it is known beforehand, else null; outlives the context.
  void output(Tensor* value, const Shape* foreseen, bool laid_out) {
    c_.outputs_.push_back({value, foreseen, laid_out});
  }
  void run(const RunContext* run) { c_.run_ = run; }
  void on_finish(std::function<void(const Error*)> finish) { c_.finish_ = std::move(finish); }

 private:
  KernelContext& c_;
};

// A row made a value of another shape than its shape function had announced: a bug of the row.
Error unforeseen_shape(const Node& node, int output, const Shape& made, const Shape& foreseen);

// Runs one row by itself, as the derived checks do: inputs in, outputs out. Reference inputs are
// given as variables. Blocking rows must finish at once.
struct KernelInput {
  Tensor value;
  std::shared_ptr<Variable> variable;
};
std::vector<Tensor> run_kernel(const Node& node, std::vector<KernelInput> inputs, RunContext& run);

}  // namespace capstan
