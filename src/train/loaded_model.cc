#include "train/loaded_model.h"

#include <algorithm>

#include "base/nearest.h"
#include "graph/proto_convert.h"
#include "ops/catalog.h"
#include "train/written_graph.h"

namespace capstan {
namespace {

constexpr const char* kDefaultSignature = "serving_default";

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  std::ranges::sort(keys);
  return keys;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
  return text.empty() ? "none" : text;
}

// The signature that is meant, or none where the file has none and none was asked for.
std::string signature_name(const SavedGraph& saved, const std::string& asked) {
  std::vector<std::string> names = keys_of(saved.meta.signature_def());
  std::erase(names, "__saved_model_init_op");
  auto has = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  if (!asked.empty() && !has(asked)) {
    throw not_found("there is no signature '{}'{}; there is {}", asked, did_you_mean(asked, names),
                    listed(names));
  }
  if (!asked.empty() || names.empty()) return asked;
  if (has(kDefaultSignature)) return kDefaultSignature;
  if (names.size() == 1) return names[0];
  throw invalid_argument("there are the signatures {}: name one", listed(names));
}

// Names that a probable answer of a model has; the gradients and savers of a program are not.
std::string likely_outputs(const pb::GraphDef& graph) {
  std::vector<std::string> found;
  for (const pb::NodeDef& node : graph.node()) {
    const bool likely = node.op() == "Softmax" || node.op() == "Sigmoid" || node.op() == "ArgMax" ||
                        node.op() == "Identity" || node.op() == "BiasAdd" || node.op() == "Add";
    const bool inner = node.name().starts_with("gradients") || node.name().starts_with("save") ||
                       node.name().ends_with("/read") ||
                       node.name().find("control_dep") != std::string::npos;
    if (likely && !inner && found.size() < 8) found.push_back(node.name());
  }
  return listed(found);
}

// Names as the caller has them to what they mean in the graph.
class Naming {
 public:
  Naming(const SavedGraph& saved, const LoadOptions& options) : saved_(saved), options_(options) {
    signature_ = signature_name(saved, options.signature);
    const auto& known = saved.meta.signature_def();
    if (auto it = known.find(signature_); it != known.end()) def_ = it->second;
  }

  const std::string& signature() const { return signature_; }

  FreezeRequest request() {
    FreezeRequest request;
    for (const auto& [name, value] : options_.constants)
      request.constants[tensor(name, def_.inputs())] = value;
    for (const std::string& name : options_.inputs) add_input(name, request);
    if (!options_.only_these_inputs) {
      for (const std::string& name : keys_of(def_.inputs())) add_input(name, request);
      request.other_placeholders = def_.inputs().empty();
    }
    output_names_ = options_.outputs.empty() ? keys_of(def_.outputs()) : options_.outputs;
    if (output_names_.empty()) {
      throw invalid_argument("there is no signature: name its outputs; likely ones are {}",
                             likely_outputs(saved_.meta.graph_def()));
    }
    for (const std::string& name : output_names_)
      request.outputs.push_back(tensor(name, def_.outputs()));
    return request;
  }

  // What the caller calls the input that is this tensor: the signature's word where it has one.
  std::string input_name(const std::string& tensor) const {
    auto it = input_names_.find(tensor);
    return it == input_names_.end() ? tensor : it->second;
  }
  const std::string& output_name(size_t i) const { return output_names_[i]; }

 private:
  using Tensors = google::protobuf::Map<std::string, pb::TensorInfo>;

  // "x:0" of the signature's word for it, or of a tensor's name.
  static std::string tensor(const std::string& name, const Tensors& known) {
    auto it = known.find(name);
    if (it == known.end()) return parse_tensor_name(name).text();
    if (it->second.encoding_case() == pb::TensorInfo::kName)
      return parse_tensor_name(it->second.name()).text();
    throw unimplemented("'{}' of the signature is a sparse or composite tensor", name);
  }

  void add_input(const std::string& name, FreezeRequest& request) {
    const std::string at = tensor(name, def_.inputs());
    if (request.constants.contains(at) || !input_names_.emplace(at, name).second) return;
    FrozenInput input{at};
    if (auto it = def_.inputs().find(name); it != def_.inputs().end()) {
      if (dtype_known(it->second.dtype())) input.dtype = DType(it->second.dtype());
      if (it->second.has_tensor_shape()) input.shape = read_shape(it->second.tensor_shape());
    }
    request.inputs.push_back(std::move(input));
  }

  const SavedGraph& saved_;
  const LoadOptions& options_;
  std::string signature_;
  pb::SignatureDef def_;
  std::map<std::string, std::string> input_names_;  // by tensor
  std::vector<std::string> output_names_;
};

ModelTensor described(std::string name, std::string tensor, const Output& value) {
  return {std::move(name), std::move(tensor), value.dtype(), value.shape()};
}

}  // namespace

LoadedModel LoadedModel::open(Files& files, const std::string& folder, const LoadOptions& options) {
  const SavedGraph saved = read_saved_graph(files, folder, options.tag);
  try {
    Naming naming(saved, options);
    const FreezeRequest request = naming.request();
    FrozenGraph frozen = freeze_graph(saved.meta, standard_catalog(), files, saved.bundle, request);
    LoadedModel model;
    model.title_ = saved.title;
    model.warning_ = saved.warning;
    model.signature_ = naming.signature();
    for (size_t i = 0; i < frozen.inputs.size(); ++i) {
      const std::string& tensor = frozen.input_tensors[i];
      model.inputs_.push_back(described(naming.input_name(tensor), tensor, frozen.inputs[i]));
    }
    for (size_t i = 0; i < frozen.outputs.size(); ++i) {
      model.outputs_.push_back(
          described(naming.output_name(i), request.outputs[i], frozen.outputs[i]));
    }
    model.prepare(std::move(frozen), options.threads);
    return model;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", saved.title, error.message()));
  }
}

void LoadedModel::prepare(FrozenGraph frozen, int threads) {
  variables_ = std::move(frozen.variables);
  graph_ = std::move(frozen.graph);
  SessionOptions session;
  session.threads = threads;
  session_ = std::make_unique<Session>(*graph_, std::move(session));
  executable_ = session_->prepare(frozen.inputs, frozen.outputs, {});
}

std::vector<Tensor> LoadedModel::run(std::span<const Tensor> inputs) const {
  if (inputs.size() != inputs_.size())
    throw invalid_argument("{} values were given for {} inputs", inputs.size(), inputs_.size());
  RunResult result = session_->run(*executable_, inputs);
  for (Tensor& value : result.values) value = value.clone();
  return std::move(result.values);
}

}  // namespace capstan
