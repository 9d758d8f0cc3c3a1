#pragma once

// The memory of one run of a program: a tensor per value, the arena, and a ready context per
// kernel. Frames are kept in a pool and used again, so a run in the steady state allocates nothing.

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/arena.h"
#include "exec/layout.h"
#include "kernel/elementwise.h"

namespace capstan {

class Frame {
 public:
  Frame(const Piece& piece, const Layout& layout, std::shared_ptr<TaskState> task,
        std::shared_ptr<SessionState> session, const ProgramOptions& options,
        std::span<const std::shared_ptr<void>> states);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const Layout& layout() const { return layout_; }

  void set_inputs(std::span<const Tensor> inputs, Cancellation& cancellation);
  // Runs actions from `from` up to `to`, the next blocking one or the end; returns the position
  // reached. Throws an Error that names the op.
  size_t run(size_t from, size_t to = SIZE_MAX);
  size_t actions() const { return ready_.size(); }
  // Starts the blocking action at `position`; `finish` is called exactly once, from any thread.
  void start_blocking(size_t position, std::function<void(const Error*)> finish);
  std::vector<Tensor> outputs() const;
  // Lets go of what belongs to the caller.
  void clear();

 private:
  struct ReadyAction {
    Action::Kind kind;
    void (*kernel)(KernelContext&) = nullptr;
    KernelContext* context = nullptr;
    const Node* node = nullptr;
    // Chains:
    std::unique_ptr<ElementwiseChain> chain;
    std::optional<BoundChain> bound;  // when it is laid out: all shapes are known beforehand
    std::vector<const Tensor*> chain_inputs;
    std::vector<Tensor*> chain_outputs;
  };

  void make_values();
  void find_foreign_outputs();
  void renew_outputs();
  Tensor in_arena(const Value& value) const;
  void make_ready(const Action& action, std::span<const std::shared_ptr<void>> states);
  bool ranks_are_known(const Node& node) const;
  void make_context(ReadyAction& ready, const Node& node, std::shared_ptr<void> state);
  void make_chain(ReadyAction& ready, const Action& action);
  void run_ready(ReadyAction& ready);
  void run_chain(ReadyAction& ready);
  void run_read(ReadyAction& ready);
  void copy_read(ReadyAction& ready, const Tensor& live);
  Tensor* tensor(Output o) { return &values_[size_t(layout_.value_of(o))]; }
  std::shared_ptr<Variable> variable(const Node& node);

  // A value that leaves the piece and lies in memory of the caller's, with the values that are the
  // same bytes under other shapes.
  struct ForeignOutput {
    int output;
    size_t root;
    std::vector<size_t> aliases;
  };

  const Piece& piece_;
  const Layout& layout_;
  const ProgramOptions& options_;
  std::shared_ptr<TaskState> task_;
  std::shared_ptr<SessionState> session_;
  std::shared_ptr<void> arena_;
  std::vector<Tensor> values_;
  std::vector<Tensor*> arguments_, outputs_;
  std::vector<Tensor*> borrowed_;  // what clear() lets go of
  std::vector<ForeignOutput> foreign_;
  Tensor none_;
  RunContext run_;
  std::vector<std::unique_ptr<KernelContext>> contexts_;
  std::vector<ReadyAction> ready_;
};

}  // namespace capstan
