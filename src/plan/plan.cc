#include "plan/plan.h"

#include "plan/step_graph.h"

namespace capstan {

Plan make_plan(const Graph& graph, const PlanRequest& request, const Placement& placement) {
  StepGraph step = prune(graph, request);  // only what the fetches and targets need
  drop_idle(step);                         // and of that, only what computes or orders something
  resolve_reads(step);                     // which value of a variable does each consumer see?
  place(step, placement);                  // on which task does each node run?
  assign_levels(step);                     // how often has the way there entered that task?
  return cut(step, graph.catalog());       // a segment per task and level
}

}  // namespace capstan
