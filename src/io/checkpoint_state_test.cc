#include "io/checkpoint_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/memory_files.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CheckpointState, HasTheTextThatTensorFlowWrites) {
  MemoryFiles files;
  write_checkpoint_state(files, "/m",
                         {"/m/model-2", {"/m/model-1", "/m/model-2"}, {1.5, 2.25}, 1.5});
  EXPECT_EQ(files.read("/m/checkpoint"),
            "model_checkpoint_path: \"/m/model-2\"\n"
            "all_model_checkpoint_paths: \"/m/model-1\"\n"
            "all_model_checkpoint_paths: \"/m/model-2\"\n"
            "all_model_checkpoint_timestamps: 1.5\n"
            "all_model_checkpoint_timestamps: 2.25\n"
            "last_preserved_timestamp: 1.5\n");
}

TEST(CheckpointState, ComesBack) {
  MemoryFiles files;
  write_checkpoint_state(files, "/m", {"/m/a \"b\"\n\xc3\xa9", {"/m/x"}, {}, 1700000000.123456});
  auto info = read_checkpoint_state(files, "/m");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->model_checkpoint_path, "/m/a \"b\"\n\xc3\xa9");
  EXPECT_THAT(info->all_model_checkpoint_paths, ElementsAre("/m/x", "/m/a \"b\"\n\xc3\xa9"));
  EXPECT_EQ(info->last_preserved_timestamp, 1700000000.123456);
  EXPECT_FALSE(read_checkpoint_state(files, "/other"));
}

TEST(CheckpointState, PathsInsideARelativeFolderMoveWithIt) {
  MemoryFiles files;
  write_checkpoint_state(files, "logs/run", {"logs/run/model-1", {}});
  EXPECT_THAT(files.read("logs/run/checkpoint"), HasSubstr("model_checkpoint_path: \"model-1\""));
  EXPECT_EQ(read_checkpoint_state(files, "logs/run")->model_checkpoint_path, "logs/run/model-1");
  write_checkpoint_state(files, "/m", {"/m/model-1", {}}, true);
  EXPECT_THAT(files.read("/m/checkpoint"), HasSubstr("model_checkpoint_path: \"model-1\""));
}

TEST(CheckpointState, ReadsEverySpellingOfTheTextFormat) {
  MemoryFiles files;
  files.put("/m/checkpoint",
            "# note\nmodel_checkpoint_path : 'a' \"b\\x63\\144\" ; new_field: 3, "
            "all_model_checkpoint_timestamps: 1e9");
  auto info = read_checkpoint_state(files, "/m");
  EXPECT_EQ(info->model_checkpoint_path, "/m/abcd");
  EXPECT_THAT(info->all_model_checkpoint_timestamps, ElementsAre(1e9));
}

TEST(CheckpointState, DamageIsNamedWithItsLine) {
  for (const char* text : {"\nmodel_checkpoint_path \"a\"", "\nmodel_checkpoint_path: \"a",
                           "\nmodel_checkpoint_path:", "\nmodel_checkpoint_path: 3",
                           "\nlast_preserved_timestamp: \"x\"", "\n\"x\""}) {
    MemoryFiles files;
    files.put("/m/checkpoint", text);
    try {
      read_checkpoint_state(files, "/m");
      FAIL() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kDataLoss);
      EXPECT_THAT(e.message(), HasSubstr("/m/checkpoint, line 2")) << text;
    }
  }
}

TEST(CheckpointState, TimestampsGoWithPaths) {
  MemoryFiles files;
  EXPECT_THROW(write_checkpoint_state(files, "/m", {"/m/a", {"/m/a"}, {1.0, 2.0}}), Error);
}

}  // namespace
}  // namespace capstan
