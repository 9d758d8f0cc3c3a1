// Nodes of the training layer: what saves variables, makes summaries, and trains in step.

#include "train.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "build.h"
#include "build/saver.h"
#include "build/summary.h"
#include "build/sync_replicas.h"
#include "handles.h"

namespace capstan {
namespace {

// (filename tensor, save tensor, restore operation)
nb::tuple make_saver_parts(nb::handle graph, nb::dict variables, bool sharded, const std::string& name) {
  std::map<std::string, VariableRef> refs;
  for (auto [key, variable] : variables) refs.emplace(nb::cast<std::string>(key), variable_of(variable));
  SaverOptions options;
  options.sharded = sharded;
  options.name = name;
  SaverNodes nodes = make_saver(graph_handle(graph).graph, refs, options);
  return nb::make_tuple(tensor_object(graph, nodes.filename), tensor_object(graph, nodes.save),
                        operation_object(graph, *nodes.restore));
}

using SummaryBuilder = Output (*)(Graph&, std::string_view, Output);

nb::object make_summary(SummaryBuilder build, nb::handle graph, const std::string& name, nb::handle value) {
  return tensor_object(graph, build(graph_handle(graph).graph, name, output_of(value)));
}

nb::object make_merged(nb::handle graph, nb::handle summaries) {
  std::vector<Output> outputs = outputs_of(summaries);
  return tensor_object(graph, merge_summaries(graph_handle(graph).graph, outputs));
}

// What SyncReplicasOptimizer.apply_gradients left in the graph.
struct SyncHandle {
  SyncReplicasOptions options;
  VariableRef global_step;
  SyncReplicas nodes;
};

SyncHandle apply_in_sync(nb::handle graph, Optimizer& optimizer, int64_t replicas_to_aggregate,
                         int64_t total_replicas, const std::string& name, nb::handle gradients,
                         nb::handle variables, nb::handle global_step, nb::handle global_variables) {
  std::vector<Output> grads = outputs_of(gradients);
  std::vector<VariableRef> refs = variables_of(variables);
  std::vector<GradientAndVariable> pairs;
  for (size_t i = 0; i < refs.size(); ++i) pairs.push_back({grads[i], refs[i]});
  SyncHandle made{{replicas_to_aggregate, total_replicas, name}, variable_of(global_step), {}};
  std::vector<Output> globals = outputs_of(global_variables);
  made.nodes = apply_gradients_in_sync(graph_handle(graph).graph, optimizer, made.options, pairs,
                                       made.global_step, globals);
  return made;
}

template <auto Member>
nb::object operation_member(const SyncHandle& self, nb::handle graph) {
  return operation_object(graph, *(self.nodes.*Member));
}

nb::object init_tokens_op(const SyncHandle& self, nb::handle graph, int64_t num_tokens) {
  Node& node = init_tokens(graph_handle(graph).graph, self.nodes, self.options, self.global_step, num_tokens);
  return operation_object(graph, node);
}

void bind_sync(nb::module_& m) {
  nb::class_<SyncHandle>(m, "SyncReplicas")
      .def("train_op", &operation_member<&SyncReplicas::train_op>)
      .def("update_op", &operation_member<&SyncReplicas::update>)
      .def("sync_op", &operation_member<&SyncReplicas::sync_op>)
      .def("close_op", &operation_member<&SyncReplicas::close_queue>)
      .def("cancel_op", &operation_member<&SyncReplicas::cancel_queue>)
      .def("chief_init_op", &operation_member<&SyncReplicas::chief_init>)
      .def("local_step_init_op", &operation_member<&SyncReplicas::local_step_init>)
      .def("local_step",
           [](const SyncHandle& self, nb::handle graph) { return variable_parts(graph, self.nodes.local_step); })
      .def("ready_for_local_init",
           [](const SyncHandle& self, nb::handle graph) { return tensor_object(graph, self.nodes.ready_for_local_init); })
      .def("token_queue",
           [](const SyncHandle& self, nb::handle graph) { return tensor_object(graph, self.nodes.token_queue); })
      .def("accumulators",
           [](const SyncHandle& self, nb::handle graph) { return tensor_list(graph, self.nodes.accumulators); })
      .def("init_tokens_op", &init_tokens_op);
  m.def("apply_gradients_in_sync", &apply_in_sync);
}

}  // namespace

void bind_train(nb::module_& m) {
  m.def("make_saver", &make_saver_parts);
  m.def("scalar_summary", [](nb::handle graph, const std::string& name, nb::handle value) {
    return make_summary(scalar_summary, graph, name, value);
  });
  m.def("histogram_summary", [](nb::handle graph, const std::string& name, nb::handle value) {
    return make_summary(histogram_summary, graph, name, value);
  });
  m.def("scalar_summary_tagged", [](nb::handle graph, const std::string& tag, nb::handle value) {
    return make_summary(scalar_summary_tagged, graph, tag, value);
  });
  m.def("histogram_summary_tagged", [](nb::handle graph, const std::string& tag, nb::handle value) {
    return make_summary(histogram_summary_tagged, graph, tag, value);
  });
  m.def("merge_summaries", &make_merged);
  bind_sync(m);
}

}  // namespace capstan
