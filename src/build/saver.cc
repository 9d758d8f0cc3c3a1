#include "build/saver.h"

#include "build/basics.h"

namespace capstan {
namespace {

Tensor string_vector(const std::vector<std::string>& texts) {
  return Tensor::of<std::string>({int64_t(texts.size())}, texts);
}

// The checkpoint is written by the session's task, to which servers send their bytes, so one SaveV2
// holds all variables; shard names stay TensorFlow's.
Output add_save(Graph& g, Output filename, const std::vector<std::string>& names,
                const std::vector<VariableRef>& variables) {
  Output tensor_names = g.constant(string_vector(names), "SaveV2/tensor_names");
  Output slices =
      g.constant(string_vector(std::vector<std::string>(names.size())), "SaveV2/shape_and_slices");
  std::vector<Output> inputs = {filename, tensor_names, slices};
  std::vector<DType> types;
  for (const VariableRef& v : variables) {
    inputs.push_back(v.ref);
    types.push_back(v.dtype());
  }
  Node& save = g.add_node("SaveV2", inputs, {{"dtypes", types}});
  auto after = g.control_dependencies({&save});
  return g.add("Identity", {filename}, {}, "control_dependency");
}

Node* add_restore(Graph& g, Output filename, const std::vector<std::string>& names,
                  const std::vector<VariableRef>& variables, bool reshape) {
  Output tensor_names, slices;
  Node* restore = nullptr;
  {
    std::vector<DType> types;
    for (const VariableRef& v : variables) types.push_back(v.dtype());
    tensor_names = g.constant(string_vector(names), "RestoreV2/tensor_names");
    slices = g.constant(string_vector(std::vector<std::string>(names.size())),
                        "RestoreV2/shape_and_slices");
    Output inputs[] = {filename, tensor_names, slices};
    restore = &g.add_node("RestoreV2", inputs, {{"dtypes", types}});
  }
  std::vector<Node*> assigns;
  for (size_t i = 0; i < variables.size(); ++i) {
    auto with = g.colocate_with(variables[i].ref.node);
    Output value = restore->output(int(i));
    bool validate = variables[i].shape().fully_defined();
    if (reshape && validate) {
      Output shape = g.constant(int_vector(variables[i].shape().dims()), "Reshape/shape");
      value = g.add("Reshape", {value, shape});
    }
    g.set_shape(value, variables[i].shape());
    assigns.push_back(
        g.add("Assign", {variables[i].ref, value}, {{"validate_shape", validate}}).node);
  }
  return &group(g, assigns, "restore_all");
}

}  // namespace

SaverNodes make_saver(Graph& graph, const std::map<std::string, VariableRef>& variables,
                      const SaverOptions& options) {
  if (variables.empty()) throw invalid_argument("there are no variables to save");
  std::vector<std::string> names;
  std::vector<VariableRef> refs;
  for (const auto& [name, variable] : variables) {
    names.push_back(name);
    refs.push_back(variable);
  }
  auto outside = graph.clear_control_dependencies();
  auto scope = graph.name_scope(options.name);
  // Files are written where the session is: the filename and the ops on it have no task of their
  // own.
  auto here = graph.no_device();
  SaverNodes out;
  Output input = graph.constant(Tensor::scalar<std::string>("model"), "filename/input");
  Output filename = graph.add("PlaceholderWithDefault", {input}, {{"shape", Shape{}}}, "filename");
  out.filename = graph.add("PlaceholderWithDefault", {filename}, {{"shape", Shape{}}}, "Const");
  out.save = add_save(graph, out.filename, names, refs);
  out.restore = add_restore(graph, out.filename, names, refs, options.reshape);
  return out;
}

}  // namespace capstan
