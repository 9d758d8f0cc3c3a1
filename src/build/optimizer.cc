#include "build/optimizer.h"

#include "build/basics.h"

namespace capstan {

const VariableRef* Optimizer::slot(const std::string& kind, const VariableRef& variable) const {
  auto it = slots_.find(kind);
  if (it == slots_.end()) return nullptr;
  auto found = it->second.find(variable.name());
  return found == it->second.end() ? nullptr : &found->second;
}

Node* Optimizer::finish(Graph& graph, std::span<Node* const> updates, std::string_view name) {
  return &group(graph, updates, name);
}

VariableRef Optimizer::keep(VariableRef variable) {
  variables_.push_back(variable);
  return variable;
}

VariableRef Optimizer::keep_slot(const std::string& kind, const VariableRef& variable,
                                 VariableRef slot) {
  slots_[kind][variable.name()] = slot;
  return keep(slot);
}

VariableRef Optimizer::zeros_slot(Graph& graph, const VariableRef& variable,
                                  const std::string& kind, std::string_view name) {
  if (const VariableRef* known = slot(kind, variable)) return *known;
  return keep_slot(kind, variable, make_zeros_slot(graph, variable, name, slot_scope_));
}

std::vector<GradientAndVariable> compute_gradients(Graph& graph, Output loss,
                                                   std::span<const VariableRef> variables,
                                                   const ComputeOptions& options) {
  if (!is_floating(loss.dtype())) {
    throw invalid_argument("the loss '{}' is of type {}; gradients need a floating-point one",
                           loss.name(), dtype_name(loss.dtype()));
  }
  if (variables.empty()) throw invalid_argument("there are no variables to optimize");
  std::vector<Output> refs;
  for (const VariableRef& v : variables) refs.push_back(v.ref);
  GradientOptions g;
  if (options.grad_loss) g.grad_ys = {options.grad_loss};
  g.gate = options.gate_ops;
  g.colocate_with_ops = options.colocate_with_ops;
  g.aggregation = options.aggregation;
  std::vector<Output> found = gradients(graph, std::span(&loss, 1), refs, g);
  std::vector<GradientAndVariable> out;
  for (size_t i = 0; i < found.size(); ++i) out.push_back({found[i], variables[i]});
  return out;
}

Node& apply_gradients(Graph& graph, Optimizer& optimizer,
                      std::span<const GradientAndVariable> gradients,
                      const VariableRef* global_step, std::string_view name) {
  std::vector<VariableRef> variables;
  std::string all;
  for (const auto& [gradient, variable] : gradients) {
    all += (all.empty() ? "" : ", ") + variable.name();
    if (gradient) variables.push_back(variable);
  }
  if (variables.empty()) {
    throw invalid_argument("no gradients for any variable; the loss depends on none of: {}", all);
  }
  {
    auto lifted = graph.clear_control_dependencies();
    optimizer.create_slots(graph, variables);
  }
  auto scope = graph.name_scope(name.empty() ? std::string_view(optimizer.name()) : name);
  std::string full = graph.current_scope() + "/";
  optimizer.prepare(graph);
  std::vector<Node*> updates;
  for (const auto& [gradient, variable] : gradients) {
    if (!gradient) continue;
    auto inner = graph.name_scope("update_" + variable.name());
    auto with = graph.colocate_with(variable.ref.node);
    updates.push_back(optimizer.apply_dense(graph, gradient, variable));
  }
  if (!global_step) return *optimizer.finish(graph, updates, full);
  auto after = graph.control_dependencies({optimizer.finish(graph, updates, "update")});
  auto with = graph.colocate_with(global_step->ref.node);
  Output one = graph.constant(scalar_of(global_step->dtype(), 1), "value");
  return graph.add_node("AssignAdd", std::vector<Output>{global_step->ref, one}, {}, full);
}

Node& minimize(Graph& graph, Optimizer& optimizer, Output loss,
               std::span<const VariableRef> variables, const VariableRef* global_step,
               const ComputeOptions& options, std::string_view name) {
  return apply_gradients(graph, optimizer, compute_gradients(graph, loss, variables, options),
                         global_step, name);
}

}  // namespace capstan
