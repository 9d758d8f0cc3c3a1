#include "jobs/script/paths.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace capstan::script {
namespace {

TEST(Paths, WithoutARootAreTheMachinesOwn) {
  const Paths paths("/home/me");
  EXPECT_EQ(paths.file("/tmp/x", {}), "/tmp/x");
  EXPECT_EQ(paths.file("data/x", {}), "/home/me/data/x");
  EXPECT_EQ(paths.file("file:///tmp//x/", {}), "/tmp/x/");
  EXPECT_EQ(paths.input("/tmp/no*such", {}), "/tmp/no*such");
}

TEST(Paths, WithARootLieBelowIt) {
  const Paths paths("/nowhere/home", "/nowhere/root");
  EXPECT_EQ(paths.file("/tmp/x", {}), "/nowhere/root/tmp/x");
  EXPECT_EQ(paths.file("x", {}), "/nowhere/home/x");
}

TEST(Paths, MayHaveARootThatIsALink) {
  const auto folder = std::filesystem::temp_directory_path() / "paths-test-link";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "real");
  std::filesystem::create_symlink(folder / "real", folder / "link");
  const Paths paths(folder / "link", (folder / "link/").string());
  EXPECT_EQ(paths.file("/new/x", {}), (folder / "link/new/x").string());
  std::filesystem::remove_all(folder);
}

void expect_refused(const std::string& path, Code code) {
  for (const Paths& paths : {Paths("/home/me"), Paths("/home/me", "/nowhere")}) {
    try {
      paths.file(path, {});
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
    }
  }
}

TEST(Paths, RefuseWhatLeadsElsewhere) {
  expect_refused("../x", Code::kPermissionDenied);
  expect_refused("/a/..", Code::kPermissionDenied);
  expect_refused("file:///a/../b", Code::kPermissionDenied);
  expect_refused(std::string("/a\0b", 4), Code::kPermissionDenied);
  expect_refused("/a\nb", Code::kPermissionDenied);
  expect_refused("hdfs://x/y", Code::kPermissionDenied);
  expect_refused(std::string(5000, 'x'), Code::kPermissionDenied);
  expect_refused("", Code::kInvalidArgument);
}

TEST(Paths, TakeDotsInsideNames) {
  EXPECT_EQ(Paths("/h").file("/a..b/c...", {}), "/a..b/c...");
  EXPECT_EQ(Paths("/h").file("/a/x://y", {}), "/a/x:/y");
}

}  // namespace
}  // namespace capstan::script
