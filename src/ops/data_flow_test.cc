// Rows of queues, accumulators, random values, summaries and checkpoints.

#include <unistd.h>

#include <filesystem>
#include <limits>

#include "io/bundle.h"
#include "ops/row_test.h"
#include "proto/event.pb.h"

namespace capstan {
namespace {

class DataFlow : public RowTest {};

const std::vector<DType> kInt64s = {DType::kInt64};

TEST_F(DataFlow, AQueueHandsOutWhatWasEnqueued) {
  const Tensor queue = handle("FIFOQueueV2", {{"component_types", kInt64s},
                                              {"shapes", std::vector<Shape>{Shape{}}},
                                              {"capacity", int64_t(10)}});
  Tensor fed = Tensor::scalar<int64_t>(5);
  run("QueueEnqueueV2", {queue, fed});
  *fed.data<int64_t>() = 99;  // the queue has a copy
  run("QueueEnqueueManyV2", {queue, Tensor::of<int64_t>({2}, {6, 7})});
  EXPECT_EQ(*run("QueueSizeV2", {queue})[0].data<int32_t>(), 3);
  EXPECT_EQ(*run("QueueDequeueV2", {queue}, {{"component_types", kInt64s}})[0].data<int64_t>(), 5);
  auto many = run("QueueDequeueManyV2", {queue, Tensor::scalar<int32_t>(2)},
                  {{"component_types", kInt64s}});
  EXPECT_TRUE(many[0].equals(Tensor::of<int64_t>({2}, {6, 7})));
  run("QueueCloseV2", {queue});
  EXPECT_TRUE(*run("QueueIsClosedV2", {queue})[0].data<bool>());
  const std::string message = message_of([&] {
    run("QueueDequeueV2", {queue}, {{"component_types", kInt64s}});
  });
  EXPECT_TRUE(message.starts_with("OutOfRange: FIFOQueue 'FIFOQueueV2' is closed")) << message;
}

TEST_F(DataFlow, DequeuedShapesAreKnownFromTheQueue) {
  Output queue = graph.add(
      "FIFOQueueV2", {}, {{"component_types", kInt64s}, {"shapes", std::vector<Shape>{Shape{4}}}});
  Output one = graph.add("QueueDequeueV2", {queue}, {{"component_types", kInt64s}});
  EXPECT_EQ(one.shape(), (Shape{4}));
  Output n = graph.add("Placeholder", {}, {{"dtype", DType::kInt32}});
  Output many = graph.add("QueueDequeueManyV2", {queue, n}, {{"component_types", kInt64s}});
  EXPECT_EQ(many.shape(), (Shape{-1, 4}));
}

TEST_F(DataFlow, SharedQueuesBelongToTheTaskOthersToTheSession) {
  const AttrMap shared = {{"component_types", kInt64s}, {"shared_name", std::string("q")}};
  const Tensor first = handle("FIFOQueueV2", shared), second = handle("FIFOQueueV2", shared);
  EXPECT_EQ(first.raw(), second.raw());
  SessionState other;
  RunContext elsewhere{&task, &other, &cancellation};
  Node& own = node("FIFOQueueV2", {}, {{"component_types", kInt64s}}, "own");
  EXPECT_NE(run_kernel(own, {}, context)[0].raw(), run_kernel(own, {}, elsewhere)[0].raw());
  EXPECT_EQ(run_kernel(own, {}, context)[0].raw(), run_kernel(own, {}, context)[0].raw());
  EXPECT_THROW(handle("FIFOQueueV2", {{"component_types", std::vector<DType>{DType::kFloat}},
                                      {"shared_name", std::string("q")}}),
               Error);
  EXPECT_THROW(
      handle("ResourceConditionalAccumulator",
             {{"dtype", DType::kFloat}, {"shape", Shape{}}, {"shared_name", std::string("q")}}),
      Error);
}

TEST_F(DataFlow, AnAccumulatorAveragesAndCountsItsSteps) {
  const Tensor acc =
      handle("ResourceConditionalAccumulator", {{"dtype", DType::kFloat}, {"shape", Shape{2}}});
  const Tensor grad = Tensor::of<float>({2}, {1, 3});
  run("ResourceAccumulatorApplyGradient", {acc, Tensor::scalar<int64_t>(0), grad});
  run("ResourceAccumulatorApplyGradient",
      {acc, Tensor::scalar<int64_t>(0), Tensor::of<float>({2}, {3, 5})});
  EXPECT_EQ(*run("ResourceAccumulatorNumAccumulated", {acc})[0].data<int32_t>(), 2);
  auto mean = run("ResourceAccumulatorTakeGradient", {acc, Tensor::scalar<int32_t>(2)},
                  {{"dtype", DType::kFloat}});
  EXPECT_TRUE(mean[0].equals(Tensor::of<float>({2}, {2, 4})));
  run("ResourceAccumulatorApplyGradient", {acc, Tensor::scalar<int64_t>(0), grad});  // stale
  run("ResourceAccumulatorSetGlobalStep", {acc, Tensor::scalar<int64_t>(0)});
  run("ResourceAccumulatorApplyGradient", {acc, Tensor::scalar<int64_t>(0), grad});
  EXPECT_EQ(*run("ResourceAccumulatorNumAccumulated", {acc})[0].data<int32_t>(), 1);
}

// --- Random --------------------------------------------------------------------------------------

TEST_F(DataFlow, ARandomStreamGoesOnFromRunToRunOfASession) {
  const Tensor ten = Tensor::of<int32_t>({1}, {10});
  Node& uniform =
      node("RandomUniform", {ten},
           {{"seed", int64_t(87654321)}, {"seed2", int64_t(5)}, {"dtype", DType::kFloat}});
  const Tensor first = run(uniform, {ten})[0].clone(), second = run(uniform, {ten})[0].clone();
  uint32_t bits;
  std::memcpy(&bits, first.raw(), 4);
  EXPECT_EQ(bits, 0x3ec6d0bcu);
  std::memcpy(&bits, second.raw(), 4);
  EXPECT_EQ(bits, 0x3e804fccu);
  SessionState other;
  RunContext elsewhere{&task, &other, &cancellation};
  EXPECT_TRUE(run_kernel(uniform, {{ten, nullptr}}, elsewhere)[0].equals(first));
}

TEST_F(DataFlow, WithoutSeedsEveryRunDiffers) {
  const Tensor ten = Tensor::of<int32_t>({1}, {10});
  Node& normal = node("RandomStandardNormal", {ten}, {{"dtype", DType::kFloat}});
  EXPECT_FALSE(run(normal, {ten})[0].equals(run(normal, {ten})[0]));
}

TEST_F(DataFlow, ShufflesAsTensorFlowDoes) {
  Tensor rows(DType::kInt32, Shape{12});
  for (int32_t i = 0; i < 12; ++i) rows.data<int32_t>()[i] = i;
  Node& shuffle = node("RandomShuffle", {rows}, {{"seed", int64_t(3)}, {"seed2", int64_t(4)}});
  EXPECT_TRUE(run(shuffle, {rows})[0].equals(
      Tensor::of<int32_t>({12}, {9, 5, 3, 1, 11, 6, 7, 8, 0, 4, 2, 10})));
  EXPECT_TRUE(run(shuffle, {rows})[0].equals(
      Tensor::of<int32_t>({12}, {2, 10, 11, 0, 9, 7, 1, 6, 4, 3, 5, 8})));
  Node& pairs = node("RandomShuffle", {rows}, {{"seed", int64_t(3)}, {"seed2", int64_t(4)}});
  EXPECT_TRUE(run(pairs, {rows.reshaped({6, 2})})[0].equals(
      Tensor::of<int32_t>({6, 2}, {6, 7, 2, 3, 0, 1, 10, 11, 4, 5, 8, 9})));
}

TEST_F(DataFlow, AnEmptyRangeOfIntegersIsRefused) {
  const std::string message = message_of([&] {
    run("RandomUniformInt",
        {Tensor::of<int32_t>({1}, {2}), Tensor::scalar<int32_t>(5), Tensor::scalar<int32_t>(5)});
  });
  EXPECT_EQ(message, "InvalidArgument: Need minval < maxval, got 5 >= 5");
}

// --- Summaries -----------------------------------------------------------------------------------

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

TEST_F(DataFlow, AScalarSummaryHasTensorFlowsBytes) {
  auto summary = run("ScalarSummary", {Tensor::scalar<std::string>("loss"), Tensor::scalar(0.25)});
  EXPECT_EQ(hex(*summary[0].data<std::string>()), "0a0b0a046c6f7373150000803e");
}

TEST_F(DataFlow, AHistogramHasTensorFlowsBytes) {
  auto summary =
      run("HistogramSummary", {Tensor::scalar<std::string>("h"),
                               Tensor::of<float>({8}, {0, 0, 1, -1, 2.5f, 1e-13f, -3e21f, 7})});
  EXPECT_EQ(hex(*summary[0].data<std::string>()),
            "0a87020a01682a810209000000a02b5464c4110000000000001c4019000000000000204021000000a02b54"
            "64c42940"
            "f286da27d4d9483268ffffffffffffefff4c549f02238315c42b14facdbe24f0bf08996919155aedbf0000"
            "0000000000"
            "0011ea2d819997713d08996919155aed3f2b14facdbe24f03f77603c0e66080340ea360f76a3ef04402988"
            "ead0c2261b"
            "40612f354cd6dd1d40ffffffffffffef7f3a680000000000000000000000000000f03f0000000000000000"
            "0000000000"
            "00f03f000000000000000000000000000008400000000000000000000000000000f03f0000000000000000"
            "000000000000"
            "f03f0000000000000000000000000000f03f0000000000000000");
  auto empty =
      run("HistogramSummary", {Tensor::scalar<std::string>("h"), Tensor(DType::kFloat, Shape{0})});
  EXPECT_EQ(
      hex(*empty[0].data<std::string>()),
      "0a2b0a01682a2609ffffffffffffef7f11ffffffffffffefff3208ffffffffffffef7f3a080000000000000000");
}

TEST_F(DataFlow, ImagesBecomePictures) {
  const Tensor tag = Tensor::scalar<std::string>("x");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor images = Tensor::of<float>({2, 1, 3, 1}, {0, 1, 2, -1, nan, 2});
  pb::Summary summary;
  ASSERT_TRUE(summary.ParseFromString(*run("ImageSummary", {tag, images})[0].data<std::string>()));
  ASSERT_EQ(summary.value_size(), 2);
  EXPECT_EQ(summary.value(1).tag(), "x/image/1");
  const pb::Summary::Image& image = summary.value(0).image();
  EXPECT_EQ(image.height(), 1);
  EXPECT_EQ(image.width(), 3);
  EXPECT_EQ(image.colorspace(), 1);
  EXPECT_TRUE(image.encoded_image_string().starts_with("\x89PNG\r\n\x1a\n"));
  auto one = run("ImageSummary", {tag, images}, {{"max_images", int64_t(1)}})[0];
  ASSERT_TRUE(summary.ParseFromString(*one.data<std::string>()));
  EXPECT_EQ(summary.value(0).tag(), "x/image");
  EXPECT_THROW(run("ImageSummary", {tag, Tensor(DType::kUInt8, {1, 2, 2, 5})}), Error);
  EXPECT_THROW(run("ImageSummary", {tag, Tensor(DType::kUInt8, {2, 2, 3})}), Error);
}

TEST_F(DataFlow, MergedSummariesKeepTheirOrderAndRefuseDoubleTags) {
  auto a = run("ScalarSummary", {Tensor::scalar<std::string>("a"), Tensor::scalar(1.0f)})[0];
  auto b = run("ScalarSummary", {Tensor::scalar<std::string>("b"), Tensor::scalar(2.0f)})[0];
  auto both = run("MergeSummary", {b, a})[0];
  pb::Summary summary;
  ASSERT_TRUE(summary.ParseFromString(*both.data<std::string>()));
  ASSERT_EQ(summary.value_size(), 2);
  EXPECT_EQ(summary.value(0).tag(), "b");
  EXPECT_EQ(message_of([&] {
              run("MergeSummary", {a, a});
            }),
            "InvalidArgument: Duplicate tag a found in summary inputs");
}

// --- Checkpoints ---------------------------------------------------------------------------------

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("capstan-io-{}", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

Tensor text(const std::string& value) { return Tensor::scalar(value); }

TEST_F(DataFlow, WhatIsSavedInShardsIsRestored) {
  const Folder folder;
  const Tensor none = Tensor::of<std::string>({1}, {""});
  auto part = [&](int32_t i) {
    return run("ShardedFilename",
               {text(folder.file("parts/p")), Tensor::scalar(i), Tensor::scalar<int32_t>(2)})[0];
  };
  EXPECT_TRUE(part(1).data<std::string>()->ends_with("p-00001-of-00002"));
  run("SaveV2",
      {part(0), Tensor::of<std::string>({1}, {"w"}), none, Tensor::of<float>({2}, {1, 2})});
  run("SaveV2",
      {part(1), Tensor::of<std::string>({1}, {"step"}), none, Tensor::scalar<int64_t>(7)});
  const Tensor prefixes =
      Tensor::of<std::string>({2}, {*part(0).data<std::string>(), *part(1).data<std::string>()});
  run("MergeV2Checkpoints", {prefixes, text(folder.file("model"))});
  EXPECT_FALSE(std::filesystem::exists(folder.file("parts")));

  const std::vector<DType> types = {DType::kInt64, DType::kFloat};
  auto restored = run("RestoreV2",
                      {text(folder.file("model")), Tensor::of<std::string>({2}, {"step", "w"}),
                       Tensor::of<std::string>({2}, {"", "2 1,1"})},
                      {{"dtypes", types}});
  EXPECT_EQ(*restored[0].data<int64_t>(), 7);
  EXPECT_TRUE(restored[1].equals(Tensor::of<float>({1}, {2})));
}

TEST_F(DataFlow, RestoringAnotherTypeNamesTheTensor) {
  const Folder folder;
  const Tensor name = Tensor::of<std::string>({1}, {"w"}),
               none = Tensor::of<std::string>({1}, {""});
  run("SaveV2", {text(folder.file("m")), name, none, Tensor::of<float>({2}, {1, 2})});
  const std::string message = message_of([&] {
    run("RestoreV2", {text(folder.file("m")), name, none},
        {{"dtypes", std::vector<DType>{DType::kInt32}}});
  });
  EXPECT_NE(message.find("tensor w in checkpoint"), std::string::npos) << message;
}

}  // namespace
}  // namespace capstan
