#include "io/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "io/bundle.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void save(Files& files, const std::string& prefix) {
  BundleWriter writer(files, prefix);
  writer.add("w", Tensor::of<float>({3}, {1, 2, 3}));
  writer.finish();
}

// Three whole checkpoints, and the file that says so.
class CheckpointFolderTest : public ::testing::Test {
 protected:
  CheckpointFolderTest() {
    for (const char* name : {"/m/model-9", "/m/model-10", "/m/model-11"}) save(files_, name);
    write_checkpoint_state(files_, "/m",
                           {"/m/model-11", {"/m/model-9", "/m/model-10", "/m/model-11"}});
  }

  CheckpointFolder look(const std::string& filename = "checkpoint") {
    return look_into_checkpoint_folder(files_, "/m", filename);
  }
  // What is used, and that it was said, with what was wrong.
  void expect_used(const std::string& prefix, const std::string& problem, bool recorded) {
    CheckpointFolder folder = look();
    ASSERT_TRUE(folder.state);
    EXPECT_EQ(folder.state->model_checkpoint_path, prefix);
    EXPECT_EQ(folder.state->all_model_checkpoint_paths.back(), prefix);
    EXPECT_EQ(folder.recorded, recorded);
    EXPECT_THAT(folder.warning, HasSubstr("/m/checkpoint"));
    EXPECT_THAT(folder.warning, HasSubstr(problem));
    EXPECT_THAT(folder.warning, HasSubstr("using " + prefix + ","));
  }

  MemoryFiles files_;
};

TEST_F(CheckpointFolderTest, WhatTheStateFileSaysHoldsWithoutAWord) {
  save(files_, "/m/model-12");
  EXPECT_EQ(look().state->model_checkpoint_path, "/m/model-11");
  EXPECT_EQ(look().state->all_model_checkpoint_paths.size(), 3u);
  EXPECT_TRUE(look().recorded);
  EXPECT_EQ(look().warning, "");
}

TEST_F(CheckpointFolderTest, AnEmptyFolderIsEmptyWithoutAWord) {
  CheckpointFolder folder = look_into_checkpoint_folder(files_, "/none");
  EXPECT_FALSE(folder.state);
  EXPECT_EQ(folder.warning, "");
}

TEST_F(CheckpointFolderTest, WithoutAStateFileTheHighestStepIsUsed) {
  files_.remove("/m/checkpoint");
  expect_used("/m/model-11", "is missing", false);
}

TEST_F(CheckpointFolderTest, EveryCutOfTheStateFileLeadsToAWholeCheckpoint) {
  const std::string text = files_.read("/m/checkpoint");
  for (size_t size = 0; size < text.size(); ++size) {
    files_.put("/m/checkpoint", text.substr(0, size));
    CheckpointFolder folder = look();
    ASSERT_TRUE(folder.state) << size;
    EXPECT_EQ(folder.state->model_checkpoint_path, "/m/model-11") << size << folder.warning;
  }
}

TEST_F(CheckpointFolderTest, AStateFileThatIsNoTextIsNamedWithTheCheckpointInItsPlace) {
  for (const std::string& text :
       {std::string("\x7f\x00\xff\x01"
                    "ELF",
                    7),
        std::string(4096, '\0'), std::string("model_checkpoint_path: 3"), std::string("")}) {
    files_.put("/m/checkpoint", text);
    expect_used("/m/model-11", "/m/checkpoint", false);
  }
}

TEST_F(CheckpointFolderTest, WhereTheNewestHasGoneTheNewestRecordedIsUsed) {
  remove_bundle(files_, "/m/model-11");
  expect_used("/m/model-10", "names /m/model-11, but there is no checkpoint", true);
  EXPECT_THAT(look().state->all_model_checkpoint_paths, ElementsAre("/m/model-9", "/m/model-10"));
}

TEST_F(CheckpointFolderTest, WithoutADataFileOrWithAShortOneACheckpointIsNotWhole) {
  std::string data = bundle_data_path("/m/model-11", 0, 1);
  std::string bytes = files_.read(data);
  files_.put(data, bytes.substr(1));
  expect_used("/m/model-10", "the file has 11", true);
  files_.remove(data);
  expect_used("/m/model-10", data + " is missing", true);
}

TEST_F(CheckpointFolderTest, WithADamagedIndexACheckpointIsNotWhole) {
  std::string bytes = files_.read("/m/model-11.index");
  bytes[bytes.size() / 2] ^= 1;
  files_.put("/m/model-11.index", bytes);
  expect_used("/m/model-10", "/m/model-11.index", true);
  files_.remove("/m/checkpoint");
  expect_used("/m/model-10", "is missing", false);
}

TEST_F(CheckpointFolderTest, AFolderThatWasMovedUsesWhatLiesInIt) {
  write_checkpoint_state(files_, "/m", {"/elsewhere/model-11", {"/elsewhere/model-10"}});
  expect_used("/m/model-11", "names /elsewhere/model-11", false);
}

TEST_F(CheckpointFolderTest, WhereNoneIsWholeTheStateFileSpeaksSoThatRestoringFails) {
  for (const char* name : {"/m/model-9", "/m/model-10", "/m/model-11"})
    files_.remove(bundle_data_path(name, 0, 1));
  CheckpointFolder folder = look();
  EXPECT_EQ(folder.state->model_checkpoint_path, "/m/model-11");
  EXPECT_THAT(folder.warning, HasSubstr("no whole checkpoint is left in /m"));
}

TEST_F(CheckpointFolderTest, AStateFileOfAnotherNameBeginsASeriesOfItsOwn) {
  EXPECT_FALSE(look("best").state);
  EXPECT_EQ(look("best").warning, "");
}

}  // namespace
}  // namespace capstan
