#pragma once

// A trained graph, to be asked: opened from a SavedModel or a checkpoint, run in this process.
//
//   LoadedModel model = LoadedModel::open(posix_files(), "/models/digits", {.outputs = {"p:0"}});
//   Tensor p = model.run({batch})[0];

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "session/session.h"
#include "train/frozen_graph.h"
#include "train/saved_graph.h"

namespace capstan {

struct LoadOptions {
  std::string tag = "serve";
  // Of a SavedModel. Empty: serving_default, or the only one.
  std::string signature;
  // Names of the signature, or tensors ("x:0"). Without outputs, all of the signature; where there
  // is none, they must be named. Inputs that are not named follow: those of the signature, or the
  // placeholders that the outputs need.
  std::vector<std::string> inputs, outputs;
  bool only_these_inputs = false;
  std::map<std::string, double> constants;  // inputs that always have this value: keep_prob
  int threads = 0;                          // of one run; 0: one per core
};

struct ModelTensor {
  std::string name;    // the signature's, or the tensor's own
  std::string tensor;  // "x:0"
  DType dtype = DType::kInvalid;
  Shape shape;
};

// Thread-safe: any number of runs at a time.
class LoadedModel {
 public:
  // Throws what read_saved_graph() and freeze_graph() throw, and InvalidArgument where outputs have
  // to be named (with likely ones) or a signature is not there (with those that are).
  static LoadedModel open(Files& files, const std::string& folder, const LoadOptions& options = {});

  const std::vector<ModelTensor>& inputs() const { return inputs_; }
  const std::vector<ModelTensor>& outputs() const { return outputs_; }
  const std::vector<std::string>& variables() const { return variables_; }
  const std::string& title() const { return title_; }  // "the checkpoint /m/model.ckpt-20"
  const std::string& signature() const { return signature_; }
  const std::string& warning() const { return warning_; }

  // One value per input, in their order; returns one per output. Throws InvalidArgument naming the
  // tensor that a value does not fit.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;

 private:
  LoadedModel() = default;
  void prepare(FrozenGraph frozen, int threads);

  std::vector<ModelTensor> inputs_, outputs_;
  std::vector<std::string> variables_;
  std::string title_, signature_, warning_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<Executable> executable_;
};

}  // namespace capstan
