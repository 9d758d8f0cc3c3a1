// Optimizers: ours, and those that a program writes in Python, behind the engine's one interface.

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "build.h"
#include "build/optimizer_row.h"
#include "handles.h"

namespace capstan {
namespace {

// The steps of an optimizer that a program wrote: methods of a Python object, which owns this one.
class PythonOptimizer : public Optimizer {
 public:
  PythonOptimizer(nb::handle self, std::string name, bool use_locking)
      : Optimizer(std::move(name), use_locking), self_(self) {}

  void create_slots(Graph&, std::span<const VariableRef> variables) override {
    nb::list list;
    for (const VariableRef& variable : variables) list.append(python_variable(variable));
    self_.attr("_create_slots")(list);
  }
  void prepare(Graph&) override { self_.attr("_prepare")(); }
  Node* apply_dense(Graph& graph, Output gradient, const VariableRef& variable) override {
    nb::object op = self_.attr("_apply_dense_node")(tensor_object(python_graph(), gradient),
                                                    python_variable(variable));
    return &checked(graph, op);
  }
  Node* finish(Graph& graph, std::span<Node* const> updates, std::string_view name) override {
    nb::list list;
    for (Node* update : updates) list.append(operation_object(python_graph(), *update));
    return &checked(graph, self_.attr("_finish")(list, nb::str(name.data(), name.size())));
  }

 private:
  nb::object python_graph() { return self_.attr("_graph"); }
  nb::object python_variable(const VariableRef& variable) {
    return self_.attr("_variable_of")(tensor_object(python_graph(), variable.ref));
  }
  Node& checked(Graph& graph, nb::handle op) {
    Node& node = node_or_op_of(op);
    if (&node.graph() != &graph)
      throw invalid_argument("the update '{}' is of another graph", node.name());
    return node;
  }

  nb::handle self_;
};

Aggregation aggregation_of(int number) {
  return number == 1 ? Aggregation::kTree : Aggregation::kAddN;
}

nb::list compute(nb::handle graph, nb::handle loss, nb::handle variables, nb::handle grad_loss,
                 int gate, int aggregation, bool colocate) {
  ComputeOptions options;
  if (!grad_loss.is_none()) options.grad_loss = output_of(grad_loss);
  options.gate_ops = gate == 1;
  options.gate_graph = gate == 2;
  options.aggregation = aggregation_of(aggregation);
  options.colocate_with_ops = colocate;
  std::vector<VariableRef> refs = variables_of(variables);
  nb::list list;
  for (auto& pair : compute_gradients(graph_handle(graph).graph, output_of(loss), refs, options)) {
    list.append(tensor_or_none(graph, pair.gradient));
  }
  return list;
}

nb::object apply(nb::handle graph, Optimizer& optimizer, nb::handle gradients, nb::handle variables,
                 nb::handle global_step, const std::string& name) {
  std::vector<Output> grads = outputs_of(gradients);
  std::vector<VariableRef> refs = variables_of(variables);
  std::vector<GradientAndVariable> pairs;
  for (size_t i = 0; i < refs.size(); ++i) pairs.push_back({grads[i], refs[i]});
  VariableRef step;
  if (!global_step.is_none()) step = variable_of(global_step);
  Node& node = apply_gradients(graph_handle(graph).graph, optimizer, pairs,
                               global_step.is_none() ? nullptr : &step, name);
  return operation_object(graph, node);
}

nb::list variables_from(Optimizer& optimizer, nb::handle graph, size_t first) {
  nb::list list;
  const auto& all = optimizer.variables();
  for (size_t i = first; i < all.size(); ++i) list.append(variable_parts(graph, all[i]));
  return list;
}

nb::list slot_names(Optimizer& optimizer) {
  nb::list list;
  for (const auto& [kind, variables] : optimizer.slots()) list.append(nb::str(kind.c_str()));
  return list;
}

// The reference of the slot, or None.
nb::object slot_reference(Optimizer& optimizer, nb::handle graph, const std::string& kind,
                          nb::handle variable) {
  const VariableRef* slot = optimizer.slot(kind, variable_of(variable));
  return slot ? tensor_object(graph, slot->ref) : nb::object(nb::none());
}

nb::object apply_one(Optimizer& optimizer, nb::handle graph, nb::handle gradient,
                     nb::handle variable) {
  Node* node =
      optimizer.apply_dense(graph_handle(graph).graph, output_of(gradient), variable_of(variable));
  return operation_object(graph, *node);
}

nb::object finish_all(Optimizer& optimizer, nb::handle graph, nb::handle updates,
                      const std::string& name) {
  std::vector<Node*> nodes = nodes_of(updates);
  return operation_object(graph, *optimizer.finish(graph_handle(graph).graph, nodes, name));
}

Setting setting_of(nb::handle value) {
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  return hyper_of(value);
}

std::unique_ptr<Optimizer> made_by_row(const std::string& row, nb::list given) {
  std::vector<Setting> settings;
  for (nb::handle value : given) settings.push_back(setting_of(value));
  return make_optimizer(row, std::move(settings));
}

nb::str text(std::string_view value) { return nb::str(value.data(), value.size()); }

// {row: (names and parameters of its class, doc)}
nb::dict optimizer_classes() {
  nb::dict classes;
  for (const OptimizerDef* row : all_optimizers()) {
    classes[text(row->name)] = nb::make_tuple(text(row->python_class), text(row->doc));
  }
  return classes;
}

void bind_steps(nb::class_<Optimizer>& optimizer) {
  optimizer
      .def("create_slots",
           [](Optimizer& self, nb::handle graph, nb::handle variables) {
             std::vector<VariableRef> refs = variables_of(variables);
             self.create_slots(graph_handle(graph).graph, refs);
           })
      .def("prepare",
           [](Optimizer& self, nb::handle graph) { self.prepare(graph_handle(graph).graph); })
      .def("apply_dense", &apply_one)
      .def("finish", &finish_all)
      .def("set_slot_scope", &Optimizer::set_slot_scope)
      .def("variables_from", &variables_from)
      .def("slot_names", &slot_names)
      .def("slot_reference", &slot_reference);
}

}  // namespace

void bind_optimizers(nb::module_& m) {
  nb::class_<Optimizer> optimizer(m, "Optimizer");
  bind_steps(optimizer);
  nb::class_<PythonOptimizer, Optimizer>(m, "PythonOptimizer")
      .def(nb::init<nb::handle, std::string, bool>());
  m.def("make_optimizer", &made_by_row);
  m.def("optimizer_classes", &optimizer_classes);
  m.def("compute_gradients", &compute, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
        nb::arg(), nb::arg());
  m.def("apply_gradients", &apply, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg());
}

}  // namespace capstan
