#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/memory_files.h"
#include "base/temporary_folder.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Every test runs over a real folder and over memory.
class FilesTest : public ::testing::TestWithParam<bool> {
 protected:
  Files& files() { return GetParam() ? posix_files() : memory_; }
  std::string path(const std::string& name) { return dir_ + "/" + name; }
  void write(const std::string& name, std::string_view bytes,
             WriteMode mode = WriteMode::kReplace) {
    auto file = files().create(path(name), mode);
    file->append(bytes);
    file->close();
  }

  MemoryFiles memory_;
  TemporaryFolder folder_;
  const std::string dir_ = GetParam() ? folder_.path() : "/memory";
};
INSTANTIATE_TEST_SUITE_P(All, FilesTest, ::testing::Values(true, false));

Code code_of(auto&& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.code();
  }
  return Code::kOk;
}

TEST_P(FilesTest, WhatWasWrittenIsRead) {
  std::string big(200000, 'x');
  auto file = files().create(path("a"));
  file->append("start ");
  file->append(big);
  file->append(" end");
  file->close();
  EXPECT_EQ(files().read(path("a")), "start " + big + " end");
  EXPECT_EQ(files().stat(path("a"))->size, big.size() + 10);
}

TEST_P(FilesTest, ModesReplaceAppendAndRefuse) {
  write("a", "one");
  write("a", "two", WriteMode::kAppend);
  EXPECT_EQ(files().read(path("a")), "onetwo");
  write("a", "three");
  EXPECT_EQ(files().read(path("a")), "three");
  EXPECT_EQ(code_of([&] { write("a", "", WriteMode::kNew); }), Code::kAlreadyExists);
}

TEST_P(FilesTest, FlushedBytesAreSeenBeforeTheFileIsClosed) {
  auto file = files().create(path("a"));
  file->append("seen");
  file->flush();
  EXPECT_EQ(files().read(path("a")), "seen");
}

TEST_P(FilesTest, ReadsAtTheEndAreShort) {
  write("a", "0123456789");
  auto file = files().open(path("a"));
  char out[8];
  EXPECT_EQ(file->read_at(7, out, 8), 3u);
  EXPECT_EQ(std::string(out, 3), "789");
  EXPECT_EQ(file->read_at(10, out, 8), 0u);
}

TEST_P(FilesTest, MissingFilesAreNamed) {
  EXPECT_FALSE(files().exists(path("none")));
  EXPECT_EQ(code_of([&] { files().remove(path("none")); }), Code::kNotFound);
  files().remove_all(path("none"));
  try {
    files().read(path("none"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kNotFound);
    EXPECT_THAT(e.message(), HasSubstr(path("none")));
  }
}

TEST_P(FilesTest, ListsAndGlobsInOrder) {
  files().make_dirs(path("sub"));
  write("b.x", "");
  write("a.x", "");
  write("sub/c.x", "");
  EXPECT_THAT(files().list(dir_), ElementsAre("a.x", "b.x", "sub"));
  EXPECT_THAT(files().glob(path("*.x")), ElementsAre(path("a.x"), path("b.x")));
  EXPECT_THAT(files().glob(path("*.none")), ElementsAre());
  EXPECT_TRUE(files().stat(path("sub"))->is_dir);
}

TEST_P(FilesTest, AtomicWritesReplaceAndLeaveNothingBeside) {
  write_atomically(files(), path("a"), "old");
  write_atomically(files(), path("a"), "new");
  EXPECT_EQ(files().read(path("a")), "new");
  EXPECT_THAT(files().list(dir_), ElementsAre("a"));
}

TEST(PosixFiles, FailedAtomicWritesLeaveNothing) {
  EXPECT_EQ(code_of([] { write_atomically(posix_files(), "/no/such/folder/a", "x"); }),
            Code::kNotFound);
}

TEST(PosixFiles, MakesNothingForTheCurrentFolder) { EXPECT_NO_THROW(posix_files().make_dirs("")); }

// A process that dies leaves its temporary file unlocked, as one that nobody has open is.
TEST(AtomicFile, LeftoversOfTheDeadGoAndFilesOfTheLivingStay) {
  const TemporaryFolder folder;
  const std::string& dir = folder.path();
  Files& files = posix_files();
  for (const char* left : {"/a.part-1-2", "/b.part-1-2", "/a.part-1-x", "/a.part-12"})
    files.create(dir + left)->close();
  {
    AtomicFile living(files, dir + "/a");
    living.append("new");
    remove_leftovers(files, dir, [](std::string_view of) { return of == "a"; });
    EXPECT_FALSE(files.exists(dir + "/a.part-1-2"));
    living.publish(dir + "/a");
  }
  EXPECT_EQ(files.read(dir + "/a"), "new");
  EXPECT_THAT(files.list(dir), ElementsAre("a", "a.part-1-x", "a.part-12", "b.part-1-2"));
}

TEST_P(FilesTest, AnAtomicFileThatIsNotPublishedLeavesNothing) {
  write_atomically(files(), path("a"), "old");
  AtomicFile(files(), path("a")).append("new");
  EXPECT_EQ(files().read(path("a")), "old");
  EXPECT_THAT(files().list(dir_), ElementsAre("a"));
}

TEST(PosixFiles, KnowsFileUrlsAndRefusesOtherSchemes) {
  std::string path = ::testing::TempDir() + "capstan_url";
  write_atomically(posix_files(), path, "x");
  EXPECT_EQ(posix_files().read("file://" + path), "x");
  posix_files().remove(path);
  EXPECT_EQ(code_of([] { posix_files().stat("hdfs://host/a"); }), Code::kUnimplemented);
}

TEST(Paths, AreCutAndJoined) {
  EXPECT_EQ(dir_of("a/b"), "a");
  EXPECT_EQ(dir_of("b"), ".");
  EXPECT_EQ(dir_of("/b"), "/");
  EXPECT_EQ(name_of("a/b"), "b");
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(join_path("", "b"), "b");
}

}  // namespace
}  // namespace capstan
