#include "build/moving_average.h"

#include "build/composite.h"
#include "build/operators.h"

namespace capstan {

Output early_decay(Output decay, Output updates) {
  Output above = 1.0 + updates, below = 10.0 + updates;
  return binary("Minimum", decay, above / below);
}

Node& update_moving_average(const VariableRef& average, Output value, Output decay,
                            std::string_view name) {
  Graph& g = average.ref.graph();
  Composite made(g, name);
  auto with = g.colocate_with(average.ref.node);
  Output rest = cast_to(1.0 - decay, average.dtype());
  Output inputs[] = {average.ref, (average.read - value) * rest};
  return g.add_node("AssignSub", inputs, {}, made.self);
}

MovingAverages moving_averages(Graph& graph, std::span<const VariableRef> variables, double decay,
                               std::string_view name) {
  MovingAverages made;
  for (const VariableRef& v : variables) {
    made.averages.push_back(make_slot(graph, v, name, [&] { return v.initial_value; }));
  }
  Composite scope(graph, name);
  Output constant = graph.constant(Tensor::scalar(float(decay)), "decay");
  std::vector<Node*> updates;
  for (size_t i = 0; i < variables.size(); ++i) {
    updates.push_back(&update_moving_average(made.averages[i], variables[i].read, constant));
  }
  made.update = &group(graph, updates, scope.self);
  return made;
}

namespace {

constexpr CompositeDef kRows[] = {
    {.name = "early_decay", .build = builder<early_decay>},
    {.name = "update_moving_average", .build = builder<update_moving_average>},
};

}  // namespace

CompositeFamily average_composites() { return kRows; }

}  // namespace capstan
