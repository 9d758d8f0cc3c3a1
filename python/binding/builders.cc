// Device setter, summaries, savers and sync replicas: the engine's builders, called from Python.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "build.h"
#include "build/optimizer.h"
#include "build/saver.h"
#include "build/summary.h"
#include "build/sync_replicas.h"
#include "device_setter.h"
#include "gil.h"
#include "handles.h"

namespace capstan {
namespace {

nb::object make_device_setter(int ps_tasks, const std::string& ps_device,
                              const std::string& worker_device, bool merge,
                              std::vector<std::string> ps_ops, nb::object strategy) {
  DeviceSetterOptions options;
  options.ps_tasks = ps_tasks;
  options.ps_device = ps_device;
  options.worker_device = worker_device;
  options.merge_devices = merge;
  options.ps_ops = std::move(ps_ops);
  auto setter = std::make_shared<DeviceSetter>();
  // The graph that is being built is known only when the function is used.
  if (!strategy.is_none()) {
    options.strategy = [strategy, state = setter->state](const Node& node) {
      return call_program([&] {
        return nb::cast<int>(strategy(operation_object(state->graph, const_cast<Node&>(node))));
      });
    };
  }
  setter->function = replica_device_setter(std::move(options));
  return nb::cast(setter);
}

using TwoNames = Output (*)(Graph&, std::string_view, Output);

nb::object make_summary(TwoNames make, nb::handle graph, const std::string& name,
                        nb::handle value) {
  return tensor_object(graph, make(graph_handle(graph).graph, name, output_of(value)));
}

nb::object make_merge(nb::handle graph, nb::handle summaries, const std::string& name) {
  std::vector<Output> inputs = outputs_of(summaries);
  return tensor_object(graph, merge_summaries(graph_handle(graph).graph, inputs, name));
}

// (filename tensor, save tensor, restore operation)
nb::tuple make_saver_nodes(nb::handle graph, nb::dict variables, bool sharded, bool reshape,
                           const std::string& name) {
  std::map<std::string, VariableRef> by_name;
  for (auto [key, value] : variables)
    by_name.emplace(nb::cast<std::string>(key), variable_of(value));
  SaverOptions options;
  options.sharded = sharded;
  options.reshape = reshape;
  options.name = name;
  SaverNodes nodes = make_saver(graph_handle(graph).graph, by_name, options);
  return nb::make_tuple(tensor_object(graph, nodes.filename), tensor_object(graph, nodes.save),
                        operation_object(graph, *nodes.restore));
}

struct SyncHandle {
  SyncReplicasOptions options;
  SyncReplicas nodes;
  VariableRef global_step;
};

SyncReplicasOptions sync_options(int64_t aggregate, int64_t total, const std::string& name) {
  SyncReplicasOptions options;
  options.replicas_to_aggregate = aggregate;
  options.total_replicas = total;
  options.name = name;
  return options;
}

std::shared_ptr<SyncHandle> apply_in_sync(nb::handle graph, Optimizer& optimizer, int64_t aggregate,
                                          int64_t total, const std::string& name,
                                          nb::handle gradients, nb::handle variables,
                                          nb::handle global_step, nb::handle globals) {
  auto handle = std::make_shared<SyncHandle>();
  handle->options = sync_options(aggregate, total, name);
  if (!global_step.is_none()) handle->global_step = variable_of(global_step);
  std::vector<Output> grads = outputs_of(gradients), references = outputs_of(globals);
  std::vector<VariableRef> refs = variables_of(variables);
  std::vector<GradientAndVariable> pairs;
  for (size_t i = 0; i < refs.size(); ++i) pairs.push_back({grads[i], refs[i]});
  handle->nodes = apply_gradients_in_sync(graph_handle(graph).graph, optimizer, handle->options,
                                          pairs, handle->global_step, references);
  return handle;
}

nb::dict sync_nodes(const SyncHandle& handle, nb::handle graph) {
  const SyncReplicas& nodes = handle.nodes;
  nb::dict dict;
  dict["train_op"] = operation_object(graph, *nodes.train_op);
  dict["update"] = operation_object(graph, *nodes.update);
  dict["local_step"] = variable_parts(graph, nodes.local_step);
  dict["local_step_init_op"] = operation_object(graph, *nodes.local_step_init);
  dict["chief_init_op"] = operation_object(graph, *nodes.chief_init);
  dict["ready_for_local_init_op"] = tensor_object(graph, nodes.ready_for_local_init);
  dict["sync_op"] = operation_object(graph, *nodes.sync_op);
  dict["close_op"] = operation_object(graph, *nodes.close_queue);
  dict["cancel_op"] = operation_object(graph, *nodes.cancel_queue);
  return dict;
}

nb::object sync_tokens(const SyncHandle& handle, nb::handle graph, int64_t count) {
  return operation_object(graph, init_tokens(graph_handle(graph).graph, handle.nodes,
                                             handle.options, handle.global_step, count));
}

void bind_summaries(nb::module_& m) {
  auto summary = [&](const char* name, TwoNames make) {
    m.def(name, [make](nb::handle graph, const std::string& text, nb::handle value) {
      return make_summary(make, graph, text, value);
    });
  };
  summary("scalar_summary", scalar_summary);
  summary("histogram_summary", histogram_summary);
  summary("scalar_summary_tagged", scalar_summary_tagged);
  summary("histogram_summary_tagged", histogram_summary_tagged);
  m.def("merge_summaries", &make_merge);
}

}  // namespace

std::string DeviceSetter::call(nb::handle operation) {
  state->graph = nb::inst_ptr<OperationHandle>(operation)->graph;
  return function(node_of(operation));
}

void bind_builders(nb::module_& m) {
  nb::class_<DeviceSetter>(m, "DeviceSetter").def("__call__", &DeviceSetter::call);
  m.def("replica_device_setter", &make_device_setter, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg().none());
  bind_summaries(m);
  m.def("make_saver", &make_saver_nodes);
  nb::class_<SyncHandle>(m, "SyncReplicas")
      .def("nodes", &sync_nodes)
      .def("init_tokens", &sync_tokens);
  m.def("apply_gradients_in_sync", &apply_in_sync, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
}

}  // namespace capstan
