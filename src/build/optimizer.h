#pragma once

// Optimizers: what makes update nodes out of a loss. Those of ours (rows, see optimizer_row.h) and
// those that a program writes in Python go through the same interface, so that SyncReplicas and the
// rest treat them alike.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "build/basics.h"
#include "build/variables.h"
#include "graph/gradients.h"

namespace capstan {

struct GradientAndVariable {
  Output gradient;  // a default Output where the loss does not depend on the variable
  VariableRef variable;
};

class Optimizer {
 public:
  explicit Optimizer(std::string name, bool use_locking = false)
      : name_(std::move(name)), use_locking_(use_locking) {}
  virtual ~Optimizer() = default;

  const std::string& name() const { return name_; }
  bool use_locking() const { return use_locking_; }

  // The variable scope that slots are made in: Python's, or none.
  const std::string& slot_scope() const { return slot_scope_; }
  void set_slot_scope(std::string scope) { slot_scope_ = std::move(scope); }
  // Slots made so far, by kind ("Momentum") and variable.
  const std::map<std::string, std::map<std::string, VariableRef>>& slots() const { return slots_; }
  const VariableRef* slot(const std::string& kind, const VariableRef& variable) const;
  // All variables that the optimizer made, in order: slots and others.
  const std::vector<VariableRef>& variables() const { return variables_; }

  // What a subclass does, in this order, within apply_gradients().
  virtual void create_slots(Graph&, std::span<const VariableRef>) {}
  virtual void prepare(Graph&) {}
  virtual Node* apply_dense(Graph& graph, Output gradient, const VariableRef& variable) = 0;
  virtual Node* finish(Graph& graph, std::span<Node* const> updates, std::string_view name);

 protected:
  VariableRef zeros_slot(Graph& graph, const VariableRef& variable, const std::string& kind,
                         std::string_view name);
  VariableRef keep_slot(const std::string& kind, const VariableRef& variable, VariableRef slot);
  VariableRef keep(VariableRef variable);

 private:
  const std::string name_;
  const bool use_locking_;
  std::string slot_scope_;
  std::map<std::string, std::map<std::string, VariableRef>> slots_;
  std::vector<VariableRef> variables_;
};

struct ComputeOptions {
  Output grad_loss;
  bool gate_ops = true;  // GATE_OP, the default
  bool gate_graph = false;
  bool colocate_with_ops = false;
  Aggregation aggregation = Aggregation::kAddN;
};

std::vector<GradientAndVariable> compute_gradients(Graph& graph, Output loss,
                                                   std::span<const VariableRef> variables,
                                                   const ComputeOptions& options = {});
// The op that applies all and then counts the global step, where one is given. Throws
// InvalidArgument when no variable has a gradient, naming them.
Node& apply_gradients(Graph& graph, Optimizer& optimizer,
                      std::span<const GradientAndVariable> gradients,
                      const VariableRef* global_step = nullptr, std::string_view name = {});
Node& minimize(Graph& graph, Optimizer& optimizer, Output loss,
               std::span<const VariableRef> variables, const VariableRef* global_step = nullptr,
               const ComputeOptions& options = {}, std::string_view name = {});

}  // namespace capstan
