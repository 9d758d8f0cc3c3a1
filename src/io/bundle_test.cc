#include "io/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/memory_files.h"
#include "io/table.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPrefix = "/m/model-1";

Tensor counted(const Shape& shape, float first = 0) {
  Tensor t(DType::kFloat, shape);
  std::iota(t.data<float>(), t.data<float>() + t.size(), first);
  return t;
}

void write_sample(Files& files, const std::string& prefix = kPrefix, float first = 0) {
  BundleWriter writer(files, prefix);
  writer.add("w", counted({3, 4}, first));
  writer.add("global_step", Tensor::scalar<int64_t>(42));
  writer.add("names", Tensor::of<std::string>({3}, {"", "two", std::string(1000, 'n')}));
  writer.add("flags", Tensor::of<bool>({2}, {true, false}));
  writer.add("empty", Tensor(DType::kDouble, {0, 7}));
  writer.finish();
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e;
  }
  return Error(Code::kOk, "none");
}

// Reads all there is to read.
void read_everything(Files& files, const std::string& prefix = kPrefix) {
  BundleReader reader(files, prefix);
  for (const std::string& key : reader.keys()) reader.read(key);
}

void add_part(BundleWriter& writer, const Shape& full, std::vector<int64_t> starts,
              std::vector<int64_t> lengths) {
  Box box = make_box(full, starts, lengths);
  Tensor part(DType::kFloat, box.length);
  copy_common(counted(full), whole_box(full), part, box);
  writer.add_slice("table", full, starts, lengths, part);
}

TEST(Bundle, TensorsOfEveryKindComeBack) {
  MemoryFiles files;
  write_sample(files);
  EXPECT_THAT(files.list("/m"), ElementsAre("model-1.data-00000-of-00001", "model-1.index"));
  BundleReader reader(files, kPrefix);
  EXPECT_THAT(reader.keys(), ElementsAre("empty", "flags", "global_step", "names", "w"));
  EXPECT_TRUE(reader.read("w").equals(counted({3, 4})));
  EXPECT_EQ(*reader.read("global_step").data<int64_t>(), 42);
  EXPECT_EQ(reader.read("names").data<std::string>()[2], std::string(1000, 'n'));
  EXPECT_EQ(reader.read("empty").shape(), (Shape{0, 7}));
  EXPECT_EQ(reader.describe("w"), (std::pair<DType, Shape>(DType::kFloat, {3, 4})));
}

// The index that TensorFlow 2.21's SaveV2 wrote for the tensors below.
constexpr std::string_view kTensorFlowIndex =
    "00000608011a020801000b16007600010101c064e186a008031206120408a08d0620a0012880b518"
    "35debef80401091377000101028085807f080112081202080512020804285035dd911c1906041585"
    "85807f0801120812020805120208042050285035544cb77e00010f750801120020a0b618280435ef"
    "d682c30001147608031206120408848e063a080a06086410a08d0600011e77080112081202080a12"
    "0208043a060a0210050a003a080a04080510050a00000000000100000000506395fb000000000100"
    "000000c0f2a1b00001037800bd01000000000100000000008308b8c20108cf010f00000000000000"
    "00000000000000000000000000000000000000000000000000000057fb808b247547db";

std::string hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out;
}

TEST(Bundle, HasTheBytesThatTensorFlowWrites) {
  MemoryFiles files;
  BundleWriter writer(files, kPrefix);
  std::vector<int64_t> top{0, 0}, bottom{5, 0}, half{5, -1}, from{100}, length{100000};
  writer.add_slice("w", {10, 4}, top, half, counted({5, 4}));
  writer.add_slice("w", {10, 4}, bottom, half, counted({5, 4}, 20));
  Tensor v(DType::kInt32, {100000});
  std::iota(v.data<int32_t>(), v.data<int32_t>() + v.size(), 0);
  writer.add_slice("v", {100100}, from, length, v);
  writer.add("u", Tensor::scalar(3.0f));
  writer.finish();
  EXPECT_EQ(hex(files.read(bundle_index_path(kPrefix))), kTensorFlowIndex);
}

TEST(Bundle, AMissingKeyNamesTheNearest) {
  MemoryFiles files;
  write_sample(files);
  BundleReader reader(files, kPrefix);
  EXPECT_FALSE(reader.has("global_stp"));
  Error error = error_of([&] { reader.read("global_stp"); });
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_THAT(error.message(), HasSubstr("did you mean global_step?"));
}

TEST(Bundle, AMissingBundleNamesThePath) {
  MemoryFiles files;
  Error error = error_of([&] { BundleReader(files, "/m/none"); });
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_THAT(error.message(), HasSubstr("/m/none.index does not exist"));
}

TEST(Bundle, NamesThatClashAreRefused) {
  MemoryFiles files;
  BundleWriter writer(files, kPrefix);
  writer.add("w", counted({2}));
  EXPECT_EQ(error_of([&] { writer.add("w", counted({2})); }).code(), Code::kAlreadyExists);
  EXPECT_EQ(error_of([&] { writer.add("", counted({2})); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { add_part(writer, {4}, {0}, {2}); }).code(), Code::kOk);
  EXPECT_EQ(error_of([&] { add_part(writer, {4}, {0}, {2}); }).code(), Code::kAlreadyExists);
}

TEST(Bundle, AnUnfinishedBundleLeavesNothing) {
  MemoryFiles files;
  { BundleWriter(files, kPrefix).add("w", counted({2})); }
  EXPECT_THAT(files.list("/m"), ElementsAre());
}

TEST(Bundle, PartsGiveTheWholeAndAnyOtherCut) {
  MemoryFiles files;
  BundleWriter writer(files, kPrefix);
  Shape full{10, 4};
  add_part(writer, full, {0, 0}, {3, -1});
  add_part(writer, full, {3, 0}, {7, 2});
  add_part(writer, full, {3, 2}, {7, 2});
  writer.finish();
  BundleReader reader(files, kPrefix);
  EXPECT_THAT(reader.keys(), ElementsAre("table"));
  EXPECT_EQ(reader.describe("table").second, full);
  EXPECT_TRUE(reader.read("table").equals(counted(full)));
  std::vector<int64_t> starts{2, 1}, lengths{3, 2};
  EXPECT_TRUE(reader.read_slice("table", starts, lengths)
                  .equals(Tensor::of<float>({3, 2}, {9, 10, 13, 14, 17, 18})));
}

TEST(Bundle, ASliceOfAWholeTensorIsCut) {
  MemoryFiles files;
  write_sample(files);
  std::vector<int64_t> starts{1, 0}, lengths{1, -1};
  EXPECT_TRUE(BundleReader(files, kPrefix)
                  .read_slice("w", starts, lengths)
                  .equals(Tensor::of<float>({1, 4}, {4, 5, 6, 7})));
}

TEST(Bundle, HolesAndOverlapsBetweenPartsAreFound) {
  for (int64_t second : {4, 6}) {
    MemoryFiles files;
    BundleWriter writer(files, kPrefix);
    add_part(writer, {10}, {0}, {5});
    add_part(writer, {10}, {second}, {10 - second});
    writer.finish();
    Error error = error_of([&] { read_everything(files); });
    EXPECT_EQ(error.code(), Code::kDataLoss);
    EXPECT_THAT(error.message(), HasSubstr("overlap or leave holes"));
  }
}

TEST(Bundle, MergedShardsReadAsOneAndTheSourcesGo) {
  MemoryFiles files;
  BundleWriter a(files, "/t/a"), b(files, "/t/b");
  a.add("x", counted({2}));
  add_part(a, {10}, {0}, {5});
  b.add("y", counted({3}));
  add_part(b, {10}, {5}, {5});
  a.finish();
  b.finish();
  std::vector<std::string> prefixes{"/t/a", "/t/b"};
  merge_bundles(files, prefixes, kPrefix);
  EXPECT_THAT(files.list("/t"), ElementsAre());
  EXPECT_THAT(files.list("/m"), ElementsAre("model-1.data-00000-of-00002",
                                            "model-1.data-00001-of-00002", "model-1.index"));
  BundleReader reader(files, kPrefix);
  EXPECT_THAT(reader.keys(), ElementsAre("table", "x", "y"));
  EXPECT_TRUE(reader.read("table").equals(counted({10})));
  EXPECT_TRUE(reader.read("y").equals(counted({3})));
}

TEST(Bundle, MergingRefusesAKeyThatStandsTwice) {
  MemoryFiles files;
  write_sample(files, "/t/a");
  write_sample(files, "/t/b");
  std::vector<std::string> prefixes{"/t/a", "/t/b"};
  EXPECT_EQ(error_of([&] { merge_bundles(files, prefixes, kPrefix); }).code(),
            Code::kAlreadyExists);
}

TEST(Bundle, SavingOverABundleReplacesItWhole) {
  MemoryFiles files;
  for (int round = 0; round < 3; ++round) {
    write_sample(files, kPrefix, float(round));
    EXPECT_EQ(files.list("/m").size(), 2u);
    EXPECT_TRUE(BundleReader(files, kPrefix).read("w").equals(counted({3, 4}, float(round))));
  }
}

TEST(Bundle, RemovingTakesAllFilesOfThePrefixAndNoOther) {
  MemoryFiles files;
  write_sample(files);
  write_sample(files, "/m/model-10");
  files.put("/m/model-1.meta", "graph");
  remove_bundle(files, kPrefix);
  EXPECT_THAT(files.list("/m"), ElementsAre("model-10.data-00000-of-00001", "model-10.index"));
}

// Fails the n-th change of the folder, and all after it, as if the process had died there.
class DyingFiles : public MemoryFiles {
 public:
  int left = 1 << 30;
  std::unique_ptr<WritableFile> create(const std::string& path, WriteMode mode) override {
    step();
    return MemoryFiles::create(path, mode);
  }
  void rename(const std::string& from, const std::string& to) override {
    step();
    MemoryFiles::rename(from, to);
  }
  void sync_dir(const std::string& dir) override {
    step();
    MemoryFiles::sync_dir(dir);
  }
  void remove_all(const std::string& path) override {
    step();
    MemoryFiles::remove_all(path);
  }

 private:
  void step() {
    if (left-- <= 0) throw unavailable("dead");
  }
};

TEST(Bundle, WhereverAWriterDiesTheOldOrTheNewBundleIsWhole) {
  for (int steps = 0;; ++steps) {
    DyingFiles files;
    write_sample(files, kPrefix, 0);
    files.left = steps;
    bool died = error_of([&] { write_sample(files, kPrefix, 1); }).code() != Code::kOk;
    Tensor w = BundleReader(files, kPrefix).read("w");
    EXPECT_TRUE(w.equals(counted({3, 4}, 0)) || w.equals(counted({3, 4}, 1))) << steps;
    read_everything(files);
    if (!died) break;
    ASSERT_LT(steps, 50);
  }
}

// Changes a tensor whenever some of it was written, as a training step beside the save does.
class TrainingFiles : public MemoryFiles {
 public:
  explicit TrainingFiles(Tensor live) : live_(std::move(live)) {}
  std::unique_ptr<WritableFile> create(const std::string& path, WriteMode mode) override {
    return std::make_unique<Writable>(MemoryFiles::create(path, mode), live_);
  }

 private:
  struct Writable : WritableFile {
    Writable(std::unique_ptr<WritableFile> file, Tensor live)
        : file(std::move(file)), live(std::move(live)) {}
    void append(std::string_view bytes) override {
      file->append(bytes);
      for (int64_t i = 0; i < live.size(); ++i) live.data<float>()[i] += 1;
    }
    void flush() override { file->flush(); }
    void sync() override { file->sync(); }
    void close() override { file->close(); }
    std::unique_ptr<WritableFile> file;
    Tensor live;
  };
  const Tensor live_;
};

TEST(Bundle, WhatChangesWhileItIsWrittenMatchesItsChecksum) {
  const Shape shape{700, 1000};  // some chunks and a rest
  Tensor live = counted(shape);
  TrainingFiles files(live);
  BundleWriter writer(files, kPrefix);
  writer.add("whole", live);
  std::vector<int64_t> starts{700, 0}, lengths{700, -1};
  writer.add_slice("part", {2100, 1000}, starts, lengths, live);
  writer.finish();
  BundleReader reader(files, kPrefix);
  EXPECT_EQ(reader.read("whole").shape(), shape);
  EXPECT_EQ(reader.read_slice("part", starts, lengths).shape(), shape);
}

TEST(Bundle, EveryTruncationOfEitherFileIsNamed) {
  MemoryFiles files;
  write_sample(files);
  for (const char* ending : {".index", ".data-00000-of-00001"}) {
    std::string path = std::string(kPrefix) + ending;
    std::string bytes = files.read(path);
    for (size_t size = 0; size < bytes.size(); ++size) {
      files.put(path, bytes.substr(0, size));
      Error error = error_of([&] { read_everything(files); });
      EXPECT_EQ(error.code(), Code::kDataLoss) << path << size;
      EXPECT_THAT(error.message(), HasSubstr(path));
      EXPECT_THAT(error.message(), HasSubstr("use another"));
    }
    files.put(path, bytes);
  }
}

TEST(Bundle, EveryFlippedBitOfTheDataIsFound) {
  MemoryFiles files;
  write_sample(files);
  std::string path = bundle_data_path(kPrefix, 0, 1);
  std::string bytes = files.read(path);
  for (size_t bit = 0; bit < bytes.size() * 8; bit += 3) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    files.put(path, damaged);
    EXPECT_EQ(error_of([&] { read_everything(files); }).code(), Code::kDataLoss) << bit;
  }
}

// An index with one entry, whose checksums are right and whose claims are not.
Error error_of_entry(const pb::BundleEntryProto& entry, int num_shards = 1) {
  MemoryFiles files;
  pb::BundleHeaderProto header;
  header.set_num_shards(num_shards);
  files.put(bundle_index_path(kPrefix),
            build_table({{"", header.SerializeAsString()}, {"w", entry.SerializeAsString()}}));
  files.put(bundle_data_path(kPrefix, 0, 1), std::string(64, '\0'));
  return error_of([&] { read_everything(files); });
}

pb::BundleEntryProto entry_of(std::vector<int64_t> dims, int64_t size,
                              pb::DataType dtype = pb::DT_FLOAT) {
  pb::BundleEntryProto entry;
  entry.set_dtype(dtype);
  for (int64_t dim : dims) entry.mutable_shape()->add_dim()->set_size(dim);
  entry.set_size(size);
  return entry;
}

TEST(Bundle, ImpossibleClaimsTakeNoMemory) {
  int64_t huge = int64_t{1} << 60;
  EXPECT_EQ(error_of_entry(entry_of({huge}, huge * 4)).code(), Code::kDataLoss);
  EXPECT_EQ(error_of_entry(entry_of({huge, huge}, 4)).code(), Code::kDataLoss);
  EXPECT_EQ(error_of_entry(entry_of({-1}, 4)).code(), Code::kDataLoss);
  EXPECT_EQ(error_of_entry(entry_of({1 << 20}, 4 << 20)).code(), Code::kDataLoss);
  EXPECT_EQ(error_of_entry(entry_of({1 << 20}, 64, pb::DT_STRING)).code(), Code::kDataLoss);
  EXPECT_EQ(error_of_entry(entry_of({2}, 4)).code(), Code::kDataLoss);
  EXPECT_EQ(error_of_entry(entry_of({1}, -4)).code(), Code::kDataLoss);
  pb::BundleEntryProto far = entry_of({1}, 4);
  far.set_offset(INT64_MAX);
  EXPECT_EQ(error_of_entry(far).code(), Code::kDataLoss);
  pb::BundleEntryProto elsewhere = entry_of({1}, 4);
  elsewhere.set_shard_id(7);
  EXPECT_EQ(error_of_entry(elsewhere).code(), Code::kDataLoss);
  EXPECT_EQ(error_of_entry(entry_of({1}, 4), 0).code(), Code::kDataLoss);
}

TEST(Bundle, TypesAndRanksThatWeLackAreNamed) {
  EXPECT_EQ(error_of_entry(entry_of({1}, 8, pb::DT_VARIANT)).code(), Code::kUnimplemented);
  EXPECT_EQ(error_of_entry(entry_of(std::vector<int64_t>(9, 1), 4)).code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace capstan
