#pragma once

// A small trained model in files, for tests of what opens one.

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "build/operators.h"
#include "build/variables.h"
#include "graph/graph_def.h"
#include "ops/catalog.h"
#include "proto/meta_graph.pb.h"
#include "train/loaded_model.h"
#include "train/saver.h"

namespace capstan {

// A logistic model of two features with dropout and training ops, saved as a program would: in
// /job:ps and /job:worker, with more variables than its answer needs.
class TestModel {
 public:
  TestModel() {
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("capstan-model-{}-{}", getpid(), ++count_);
    std::filesystem::create_directories(folder_);
    x_ = placeholder(g_, DType::kFloat, Shape{-1, 2}, "x");
    Output y = placeholder(g_, DType::kFloat, Shape{-1, 1}, "y");
    Output keep = placeholder(g_, DType::kFloat, Shape{}, "keep_prob");
    w_ = make_variable(g_, Tensor::of<float>({2, 1}, {0.5f, -2}), {.name = "w"});
    b_ = make_variable(g_, Tensor::of<float>({1}, {0.25f}), {.name = "b"});
    step_ = make_global_step(g_);
    Output logits = g_.add("Identity", {matmul(x_, w_.read) + b_.read}, {}, "logits");
    p_ = g_.add("Sigmoid", {logits}, {}, "p");
    g_.add("Identity", {p_ * keep}, {}, "kept");
    Output loss = reduce_mean(square(p_ - y));
    g_.add("Identity", {loss}, {}, "loss");
    g_.add("AssignAdd", {step_.ref, g_.constant(Tensor::scalar<int64_t>(1))});
  }
  ~TestModel() { std::filesystem::remove_all(folder_); }

  pb::MetaGraphDef meta() {
    pb::MetaGraphDef meta;
    meta.mutable_graph_def()->ParseFromString(to_graph_def(g_));
    for (pb::NodeDef& node : *meta.mutable_graph_def()->mutable_node()) {
      const bool variable = node.op() == "VariableV2";
      node.set_device(variable ? "/job:ps/task:0" : "/job:worker/task:1/device:GPU:0");
    }
    meta.mutable_saver_def()->set_restore_op_name("save/restore_all");
    return meta;
  }

  // Into "<folder>/model-7".
  std::string save() {
    const VariableRef all[] = {w_, b_, step_};
    Session session(g_);
    session.run({}, {}, {&initialize(g_, all)});
    Saver saver(g_, all);
    const std::string prefix = saver.save(session, folder_ + "/model", 7);
    write(prefix + ".meta", meta().SerializeAsString());
    expected_ = session.run({{x_, rows_}}, {p_})[0];
    return prefix;
  }

  void write(const std::string& path, const std::string& bytes) {
    std::filesystem::create_directories(dir_of(path));
    std::ofstream(path, std::ios::binary) << bytes;
  }

  void save_as_saved_model(const std::string& folder) {
    save();
    pb::SavedModel model;
    pb::MetaGraphDef& meta = *model.add_meta_graphs();
    meta = this->meta();
    meta.mutable_meta_info_def()->add_tags("serve");
    pb::SignatureDef& signature = (*meta.mutable_signature_def())["serving_default"];
    add(*signature.mutable_inputs(), "features", "x:0");
    add(*signature.mutable_outputs(), "probability", "p:0");
    (*meta.mutable_signature_def())["raw"] = signature;
    add(*(*meta.mutable_signature_def())["raw"].mutable_outputs(), "logits", "logits:0");
    write(folder + "/saved_model.pb", model.SerializeAsString());
    std::filesystem::create_directories(folder + "/variables");
    for (const char* end : {".index", ".data-00000-of-00001"}) {
      std::filesystem::copy_file(folder_ + "/model-7" + end, folder + "/variables/variables" + end);
    }
  }

  static void add(google::protobuf::Map<std::string, pb::TensorInfo>& to, const char* name,
                  const char* tensor) {
    to[name].set_name(tensor);
    to[name].set_dtype(pb::DT_FLOAT);
  }

  LoadedModel open(LoadOptions options) {
    return LoadedModel::open(posix_files(), folder_, options);
  }

  TestModel(const TestModel&) = delete;
  TestModel& operator=(const TestModel&) = delete;

  static inline int count_ = 0;
  std::string folder_;
  Graph g_{standard_catalog()};
  Output x_, p_;
  VariableRef w_, b_, step_;
  Tensor rows_ = Tensor::of<float>({3, 2}, {1, 2, -1, 0.5f, 0, 0});
  Tensor expected_;
};

}  // namespace capstan
