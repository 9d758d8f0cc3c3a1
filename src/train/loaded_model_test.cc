#include "train/loaded_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "io/bundle.h"
#include "train/test_model.h"

namespace capstan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class Trained : public testing::Test, protected TestModel {};

TEST_F(Trained, ACheckpointsGraphGivesWhatTheProgramComputed) {
  save();
  const LoadedModel model = open({.outputs = {"p:0"}});
  EXPECT_TRUE(model.run({{rows_}})[0].equals(expected_));
  ASSERT_THAT(model.inputs(), SizeIs(1));
  EXPECT_EQ(model.inputs()[0].tensor, "x:0");
  EXPECT_EQ(model.inputs()[0].shape, (Shape{-1, 2}));
}

TEST_F(Trained, OnlyTheVariablesThatOutputsNeedAreRestored) {
  const std::string prefix = save();
  EXPECT_THAT(open({.outputs = {"p"}}).variables(), testing::UnorderedElementsAre("w", "b"));
  // A bundle without the others will do.
  remove_bundle(posix_files(), prefix);
  BundleWriter writer(posix_files(), prefix);
  writer.add("w", Tensor::of<float>({2, 1}, {1, 1}));
  writer.finish();
  write(prefix + ".meta", meta().SerializeAsString());
  const LoadedModel model = open({.outputs = {"MatMul:0"}});
  EXPECT_TRUE(model.run({{rows_}})[0].equals(Tensor::of<float>({3, 1}, {3, -0.5f, 0})));
  EXPECT_THAT(message_of([&] { open({.outputs = {"p"}}); }), HasSubstr("the variable 'b'"));
}

TEST_F(Trained, ASavedModelIsAskedByTheWordsOfItsSignature) {
  save_as_saved_model(folder_);
  const LoadedModel model = open({});
  EXPECT_EQ(model.inputs()[0].name, "features");
  EXPECT_EQ(model.outputs()[0].name, "probability");
  EXPECT_TRUE(model.run({{rows_}})[0].equals(expected_));
  EXPECT_THAT(open({.signature = "raw"}).outputs(), SizeIs(2));
  EXPECT_THAT(open({.signature = "raw", .outputs = {"logits"}}).outputs(), SizeIs(1));
}

TEST_F(Trained, AWrongSignatureTagOrNameIsToldWithTheRightOne) {
  save_as_saved_model(folder_);
  EXPECT_THAT(message_of([&] { open({.signature = "row"}); }),
              AllOf(HasSubstr("did you mean raw?"), HasSubstr("'serving_default'")));
  EXPECT_THAT(message_of([&] { open({.tag = "train"}); }), HasSubstr("its graphs have serve"));
  EXPECT_THAT(message_of([&] { open({.outputs = {"logit"}}); }), HasSubstr("did you mean logits?"));
}

TEST_F(Trained, TheNewestSavedModelBelowTheFolderIsTaken) {
  save_as_saved_model(folder_ + "/export/9");
  std::filesystem::copy(folder_ + "/export/9", folder_ + "/export/10",
                        std::filesystem::copy_options::recursive);
  EXPECT_THAT(open({}).title(), HasSubstr("export/10"));
}

TEST_F(Trained, AFolderThatWasMovedOpensWithoutAWord) {
  save();
  const std::string moved = folder_ + "-moved";
  std::filesystem::rename(folder_, moved);
  const LoadedModel model = LoadedModel::open(posix_files(), moved, {.outputs = {"p"}});
  std::filesystem::remove_all(moved);
  EXPECT_EQ(model.warning(), "");
  EXPECT_TRUE(model.run({{rows_}})[0].equals(expected_));
}

TEST_F(Trained, AFileInAFolderDoesNotLeadOutOfIt) {
  const std::string prefix = save();
  write(folder_ + "/inner/checkpoint", fmt::format("model_checkpoint_path: \"{}\"\n", prefix));
  EXPECT_THAT(
      message_of([&] { LoadedModel::open(posix_files(), folder_ + "/inner", {.outputs = {"p"}}); }),
      HasSubstr("is not in its folder"));
}

TEST_F(Trained, WithoutASignatureTheOutputsMustBeNamedAndLikelyOnesAreTold) {
  save();
  EXPECT_THAT(message_of([&] { open({}); }),
              AllOf(HasSubstr("name its outputs"), HasSubstr("'p'"), HasSubstr("'logits'")));
}

TEST_F(Trained, APlaceholderThatIsNeededAndNotGivenIsNamed) {
  save();
  EXPECT_THAT(
      message_of([&] { open({.inputs = {"x"}, .outputs = {"kept"}, .only_these_inputs = true}); }),
      HasSubstr("the outputs need more inputs: 'keep_prob:0' (float32, [])"));
}

TEST_F(Trained, AVariableMayBeAnOutputItself) {
  save();
  const LoadedModel model = open({.outputs = {"w", "p"}});
  const std::vector<Tensor> values = model.run({{rows_}});
  EXPECT_TRUE(values[0].equals(Tensor::of<float>({2, 1}, {0.5f, -2})));
  EXPECT_TRUE(values[1].equals(expected_));
}

TEST_F(Trained, AnInputMayAlwaysHaveOneValue) {
  save();
  const LoadedModel model = open({.outputs = {"kept"}, .constants = {{"keep_prob", 1}}});
  ASSERT_THAT(model.inputs(), SizeIs(1));
  EXPECT_TRUE(model.run({{rows_}})[0].equals(expected_));
}

TEST_F(Trained, AnInnerTensorMayBeAnInput) {
  save();
  const LoadedModel model = open({.inputs = {"logits"}, .outputs = {"p"}});
  ASSERT_THAT(model.inputs(), SizeIs(1));
  EXPECT_THAT(model.variables(), SizeIs(0));
  EXPECT_TRUE(
      model.run({{Tensor::of<float>({1, 1}, {0})}})[0].equals(Tensor::of<float>({1, 1}, {0.5f})));
}

TEST_F(Trained, AllUnknownOpsAreNamedAtOnce) {
  const std::string prefix = save();
  pb::MetaGraphDef changed = meta();
  for (pb::NodeDef& node : *changed.mutable_graph_def()->mutable_node()) {
    if (node.name() == "logits") node.set_op("Mystery");
    if (node.name() == "MatMul") node.set_op("StatefulPartitionedCall");
    if (node.name() == "loss") node.set_op("NotNeeded");
  }
  write(prefix + ".meta", changed.SerializeAsString());
  EXPECT_THAT(
      message_of([&] { open({.outputs = {"p"}}); }),
      AllOf(HasSubstr("Mystery ('logits')"), HasSubstr("StatefulPartitionedCall ('MatMul')"),
            HasSubstr("tf.compat.v1.saved_model"), testing::Not(HasSubstr("NotNeeded"))));
}

TEST_F(Trained, AnOutputThatWaitsForAQueueIsRefused) {
  std::vector<DType> types = {DType::kFloat};
  Output queue = g_.add("FIFOQueueV2", {}, {{"component_types", types}});
  Output batch = g_.add("QueueDequeueV2", {queue}, {{"component_types", types}}, "batch");
  g_.add("Neg", {batch}, {}, "negative");
  save();
  EXPECT_THAT(message_of([&] { open({.outputs = {"negative"}}); }),
              HasSubstr("QueueDequeueV2 ('batch'), for which nobody provides"));
  const LoadedModel model = open({.inputs = {"batch:0"}, .outputs = {"negative"}});
  EXPECT_TRUE(model.run({{Tensor::scalar(2.0f)}})[0].equals(Tensor::scalar(-2.0f)));
}

TEST_F(Trained, AnOutputThatChangesAVariableIsRefused) {
  save();
  EXPECT_THAT(message_of([&] { open({.outputs = {"AssignAdd"}}); }),
              HasSubstr("change variables, by AssignAdd"));
}

TEST_F(Trained, AVariableOfAnotherShapeIsRefusedWithBoth) {
  const std::string prefix = save();
  pb::MetaGraphDef changed = meta();
  for (pb::NodeDef& node : *changed.mutable_graph_def()->mutable_node()) {
    if (node.name() == "w")
      (*node.mutable_attr())["shape"].mutable_shape()->mutable_dim(0)->set_size(5);
  }
  write(prefix + ".meta", changed.SerializeAsString());
  EXPECT_THAT(message_of([&] { open({.outputs = {"p"}}); }),
              AllOf(HasSubstr("'w' is float32 [5,1] in the graph"), HasSubstr("is float32 [2,1]")));
}

// As programs with moving averages or tf.get_variable's partitioners save.
TEST_F(Trained, VariablesAreFoundUnderTheNamesAndPartsThatTheSaverGaveThem) {
  const std::string prefix = save();
  remove_bundle(posix_files(), prefix);
  BundleWriter writer(posix_files(), prefix);
  writer.add("averaged", Tensor::of<float>({4, 1}, {9, 9, 1, 1}));
  writer.add("b", Tensor::of<float>({1}, {0}));
  writer.finish();
  pb::MetaGraphDef changed = meta();
  for (pb::NodeDef& node : *changed.mutable_graph_def()->mutable_node()) {
    auto texts = [&] { return (*node.mutable_attr())["value"].mutable_tensor(); };
    const bool names = node.name() == "save/RestoreV2/tensor_names";
    if (!names && node.name() != "save/RestoreV2/shape_and_slices") continue;
    const std::string third = names ? "averaged" : "4 1 2,2:-";
    const Tensor list =
        Tensor::of<std::string>({3}, {names ? "b" : "", names ? "global_step" : "", third});
    texts()->ParseFromString(to_tensor_proto(list));
  }
  write(prefix + ".meta", changed.SerializeAsString());
  const LoadedModel model = open({.outputs = {"logits"}});
  EXPECT_TRUE(model.run({{rows_}})[0].equals(Tensor::of<float>({3, 1}, {3, -0.5f, 0})));
}

TEST_F(Trained, ResourceVariablesAreReadAsOthersAre) {
  const std::string prefix = save();
  pb::MetaGraphDef changed = meta();
  for (pb::NodeDef& node : *changed.mutable_graph_def()->mutable_node()) {
    if (node.name() == "w" || node.name() == "b") node.set_op("VarHandleOp");
    if (node.name() == "w/read" || node.name() == "b/read") node.set_op("ReadVariableOp");
  }
  write(prefix + ".meta", changed.SerializeAsString());
  EXPECT_TRUE(open({.outputs = {"p"}}).run({{rows_}})[0].equals(expected_));
}

TEST_F(Trained, DamagedFilesAreRefusedByName) {
  const std::string prefix = save();
  write(prefix + ".meta", "no graph");
  EXPECT_THAT(message_of([&] { open({.outputs = {"p"}}); }),
              AllOf(HasSubstr("DataLoss"), HasSubstr("model-7.meta")));
  write(folder_ + "/saved_model.pb", "no model");
  EXPECT_THAT(message_of([&] { open({}); }),
              AllOf(HasSubstr("DataLoss"), HasSubstr("saved_model.pb")));
  EXPECT_THAT(message_of([&] { LoadedModel::open(posix_files(), folder_ + "/none", {}); }),
              HasSubstr("neither a SavedModel"));
}

TEST_F(Trained, AValueThatDoesNotFitIsRefusedByItsTensor) {
  save();
  const LoadedModel model = open({.outputs = {"p"}});
  EXPECT_THAT(message_of([&] {
                model.run({{Tensor::of<float>({1, 3}, {1, 2, 3})}});
              }),
              HasSubstr("'x:0'"));
}

TEST_F(Trained, ManyThreadsMayAskAtATime) {
  save();
  const LoadedModel model = open({.outputs = {"p"}});
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) right += model.run({{rows_}})[0].equals(expected_);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

}  // namespace
}  // namespace capstan
