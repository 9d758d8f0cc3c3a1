#include "jobs/script/model_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "io/checkpoint_state.h"

namespace capstan::script {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

class ModelDraftTest : public testing::Test {
 protected:
  ModelDraftTest() : path_(testing::TempDir() + "draft-XXXXXX") {
    mkdtemp(path_.data());
    path_ += "/m";
  }
  ~ModelDraftTest() override { fs::remove_all(fs::path(path_).parent_path()); }

  static void write(const ModelDraft& draft, const std::string& name = "weights") {
    fs::create_directories(draft.model());
    std::ofstream(draft.model() + "/" + name) << "w";
  }
  std::vector<std::string> names() const {
    return fs::exists(path_) ? posix_files().list(path_) : std::vector<std::string>();
  }
  ModelVersion publish(bool keep_version = true) {
    ModelDraft draft(path_, std::to_string(++runs_), 0, false);
    write(draft);
    draft.write_meta("model.json", "{}");
    return draft.publish(keep_version).value();
  }

  std::string path_;
  int runs_ = 0;
};

TEST_F(ModelDraftTest, WhatNoTrainingHasLeftIsNotReplaced) {
  check_replaceable(path_);
  publish(false);
  check_replaceable(path_);
  fs::remove_all(path_ + "/meta");
  check_replaceable(path_);  // as MLSQL leaves one
  std::ofstream(path_ + "/model/mine.mlsql") << "select";
  EXPECT_THAT([&] { check_replaceable(path_); },
              testing::ThrowsMessage<Error>(HasSubstr("/m/model is there, and is no model")));
}

TEST_F(ModelDraftTest, IsHiddenUntilItIsPublishedWhole) {
  std::optional<ModelDraft> draft(std::in_place, path_, "run", 2, false);
  write(*draft);
  EXPECT_THAT(model_versions(path_), IsEmpty());
  ModelVersion version = draft->publish(true).value();
  EXPECT_EQ(version.number, 0);
  EXPECT_EQ(version.model(), path_ + "/_model_0/model/2");
  EXPECT_TRUE(fs::exists(version.model() + "/weights"));
  draft.reset();
  EXPECT_THAT(names(), ElementsAre("_model_0"));
}

TEST_F(ModelDraftTest, LeavesNothingWhenItIsGivenUp) {
  { write(ModelDraft(path_, "run", 0, false)); }
  EXPECT_FALSE(fs::exists(path_));
  publish();
  { write(ModelDraft(path_, "run", 0, false)); }
  EXPECT_THAT(names(), ElementsAre("_model_0"));
}

TEST_F(ModelDraftTest, TakesTheNumberAfterTheLargest) {
  fs::create_directories(path_ + "/_model_9");
  fs::create_directories(path_ + "/_model_010");
  EXPECT_EQ(publish().number, 10);
  EXPECT_EQ(newest_model(path_).number, 10);
  EXPECT_THROW(newest_model(path_, 9), Error);  // it holds no model
}

TEST_F(ModelDraftTest, GetsANumberOfItsOwnAmongManyAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i] {
      ModelDraft draft(path_, "run" + std::to_string(i), 0, false);
      write(draft);
      draft.publish(true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(version_numbers(path_), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(model_versions(path_).size(), 8u);
}

TEST_F(ModelDraftTest, TheNewestIsTakenUnlessAnotherIsNamed) {
  for (int i = 0; i < 2; ++i) publish(true);
  ModelDraft unfinished(path_, "run", 0, false);
  write(unfinished);
  EXPECT_EQ(newest_model(path_).number, 1);
  EXPECT_EQ(newest_model(path_, 0).number, 0);
}

TEST_F(ModelDraftTest, ALaterRunWithoutVersionsIsNewerThanThoseWith) {
  publish(true);
  publish(false);
  EXPECT_EQ(newest_model(path_).number, std::nullopt);
  publish(true);
  EXPECT_EQ(newest_model(path_).number, 1);
}

TEST_F(ModelDraftTest, ReplacesWhatWasThereWithoutVersions) {
  fs::create_directories(path_ + "/model/0");
  std::ofstream(path_ + "/model/0/old") << "old";
  ModelVersion version = publish(false);
  EXPECT_EQ(version.number, std::nullopt);
  EXPECT_THAT(posix_files().list(version.model()), ElementsAre("weights"));
  EXPECT_THAT(names(), ElementsAre("meta", "model"));
}

TEST_F(ModelDraftTest, MakesTheNamesOfItsCheckpointsRelative) {
  ModelDraft draft(path_, "run", 0, false);
  write(draft, "model.ckpt-7.index");
  write_checkpoint_state(posix_files(), draft.model(),
                         {.model_checkpoint_path = draft.model() + "/model.ckpt-7",
                          .all_model_checkpoint_paths = {},
                          .all_model_checkpoint_timestamps = {}});
  ModelVersion version = draft.publish(true).value();
  EXPECT_THAT(posix_files().read(version.model() + "/checkpoint"),
              HasSubstr("model_checkpoint_path: \"model.ckpt-7\""));
}

TEST_F(ModelDraftTest, LinksInsideItLeadToTheSameFilesOncePublished) {
  ModelDraft draft(path_, "run", 0, false);
  write(draft, "step-7");
  fs::create_directories(draft.model() + "/export");
  fs::create_symlink(draft.model() + "/step-7", draft.model() + "/export/absolute");
  fs::create_symlink("step-7", draft.model() + "/relative");
  ModelVersion version = draft.publish(true).value();
  EXPECT_EQ(fs::read_symlink(version.model() + "/export/absolute"), "../step-7");
  EXPECT_EQ(posix_files().read(version.model() + "/relative"), "w");
}

TEST_F(ModelDraftTest, ALinkOutOfItIsNotPublished) {
  for (const std::string target : {"/etc/passwd", "../../meta", "nothing", "."}) {
    ModelDraft draft(path_, "run", 0, false);
    write(draft);
    fs::create_symlink(target, draft.model() + "/latest");
    EXPECT_THAT([&] { draft.publish(true); },
                testing::ThrowsMessage<Error>(HasSubstr("its latest is a link to " + target)));
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ModelDraftTest, AFolderOfTheModelThatIsALinkIsNotPublished) {
  ModelDraft draft(path_, "run", 0, false);
  fs::create_symlink("/usr", draft.model());
  EXPECT_THAT([&] { draft.publish(true); },
              testing::ThrowsMessage<Error>(HasSubstr("output_model_dir() is a link")));
}

TEST_F(ModelDraftTest, WithoutFilesPublishesNothing) {
  ModelDraft draft(path_, "run", 0, false);
  EXPECT_EQ(draft.publish(true), std::nullopt);
}

TEST_F(ModelDraftTest, HandsOnWhatAnEarlierRunLeft) {
  {
    ModelDraft failed(path_, "a", 0, /*resume=*/true);
    EXPECT_EQ(failed.found(), "");
    write(failed);
    EXPECT_THROW(ModelDraft(path_, "b", 0, true), Error);  // while the other is at it
  }
  EXPECT_THAT(names(), ElementsAre(".resume"));
  ModelDraft next(path_, "b", 0, true);
  EXPECT_EQ(next.found(), "its files");
  EXPECT_TRUE(fs::exists(next.model() + "/weights"));
  next.publish(true);
  EXPECT_TRUE(fs::exists(path_ + "/_model_0/model/0/weights"));
}

TEST_F(ModelDraftTest, RemovesWhatADeadRunLeftAndNotThoseOfTheLiving) {
  fs::create_directories(path_ + "/.part-dead/model");
  ModelDraft living(path_, "living", 0, false);
  ModelDraft other(path_, "other", 0, false);
  EXPECT_THAT(names(), ElementsAre(".part-living", ".part-other"));
}

TEST_F(ModelDraftTest, IsRefusedWhereAFileIs) {
  fs::create_directories(fs::path(path_).parent_path());
  std::ofstream(path_) << "a file";
  EXPECT_THROW(ModelDraft(path_, "run", 0, false), Error);
}

TEST(ModelStore, SaysWhichVersionsThereAre) {
  EXPECT_THAT(model_versions("/nowhere/at/all"), IsEmpty());
  try {
    newest_model("/nowhere/at/all");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_THAT(error.message(), HasSubstr("/nowhere/at/all"));
  }
}

}  // namespace
}  // namespace capstan::script
