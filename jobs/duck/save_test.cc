#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "jobs/duck/test_engine.h"

namespace capstan::duck {
namespace {

namespace fs = std::filesystem;
using script::SaveMode;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SaveTest : public DuckTest {
 protected:
  void SetUp() override {
    DuckTest::SetUp();
    if (IsSkipped()) return;
    engine->select("select i, i % 2 as d, 'x' || i as s from range(4) as r(i)", "t");
  }
  script::SaveTo to(const std::string& format, SaveMode mode = SaveMode::kErrorIfExists) {
    return {format, folder + "/out", mode, 1, {}, {}};
  }
  // All that lies there, and nothing hidden besides.
  std::vector<std::string> written() {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder + "/out")) {
      if (entry.is_regular_file()) out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
};

TEST_F(SaveTest, EachFormatComesBack) {
  for (const char* format : {"csv", "json", "parquet"}) {
    auto target = to(format, SaveMode::kOverwrite);
    target.options = {{"header", "true"}};
    engine->save("t", target);
    engine->load({format, folder + "/out", "", target.options}, "back");
    EXPECT_EQ(all("back"), all("t")) << format;
  }
}

TEST_F(SaveTest, CsvHasNoHeaderUnlessItIsAskedFor) {
  engine->save("t", to("csv"));
  EXPECT_EQ(content(written().at(0)), "0,0,x0\n1,1,x1\n2,0,x2\n3,1,x3\n");
}

TEST_F(SaveTest, FileNumIsTheNumberOfFiles) {
  auto target = to("json");
  target.file_num = 3;
  engine->save("t", target);
  EXPECT_EQ(written().size(), 3u);
}

// Far more than threads can be had.
TEST_F(SaveTest, ThousandsOfFilesAreWrittenAFewAtATime) {
  auto target = to("csv");
  target.file_num = 5000;
  engine->save("t", target);
  EXPECT_EQ(written().size(), 5000u);
  engine->load({"csv", folder + "/out/part-0*", "", {}}, "back");
  EXPECT_EQ(engine->rows("back", 0).total, 4);
}

TEST_F(SaveTest, FilesArePackedAsTheyAreToBe) {
  for (const char* format : {"csv", "json"}) {
    for (bool by_value : {false, true}) {
      auto target = to(format, SaveMode::kOverwrite);
      target.options = {{"compression", "GZIP"}, {"header", "true"}};
      if (by_value) target.partition_by = {"d"};
      engine->save("t", target);
      EXPECT_THAT(written().at(0), EndsWith(fmt::format(".{}.gz", format)));
      EXPECT_THAT(content(written().at(0)), StartsWith("\x1f\x8b"));
      engine->load({format, folder + "/out", "", {{"header", "true"}}}, "back");
      EXPECT_EQ(answer("select i, d, s from back order by i"), all("t")) << format;
    }
  }
  engine->select("select repeat('x', 10000) as s from range(1000)", "t");
  std::map<std::string, size_t> sizes;
  for (const char* packing : {"none", "gzip", "zstd", ""}) {
    auto target = to("parquet", SaveMode::kOverwrite);
    if (*packing) target.options = {{"compression", packing}};
    engine->save("t", target);
    sizes[packing] = fs::file_size(written().at(0));
  }
  EXPECT_LT(sizes["gzip"], sizes["none"]);
  EXPECT_NE(sizes["gzip"], sizes["zstd"]);
  EXPECT_LT(sizes[""], sizes["none"]);
}

TEST_F(SaveTest, PartitionByMakesFoldersOfValues) {
  auto target = to("json");
  target.partition_by = {"d"};
  engine->save("t", target);
  EXPECT_TRUE(fs::is_directory(folder + "/out/d=0"));
  engine->load({"json", folder + "/out", "", {}}, "back");
  EXPECT_EQ(answer("select i, d, s from back order by i"), all("t"));
  target.partition_by = {"nope"};
  target.mode = SaveMode::kOverwrite;
  EXPECT_THAT(thrown([&] { engine->save("t", target); }), HasSubstr("there is no such column"));
  EXPECT_TRUE(fs::is_directory(folder + "/out/d=0"));
}

TEST_F(SaveTest, WhatIsThereIsKeptReplacedOrAddedTo) {
  engine->save("t", to("json"));
  auto before = written();
  EXPECT_THAT(thrown([&] { engine->save("t", to("json")); }), StartsWith("AlreadyExists: "));
  engine->save("t", to("json", SaveMode::kIgnore));
  EXPECT_EQ(written(), before);
  engine->save("t", to("json", SaveMode::kAppend));
  EXPECT_EQ(written().size(), 2u);
  engine->save("t", to("json", SaveMode::kOverwrite));
  EXPECT_EQ(written().size(), 1u);
}

TEST_F(SaveTest, AFolderWithOtherFilesIsNotOverwritten) {
  fs::create_directories(folder + "/mine/d=1");
  file("mine/d=1/part-0.json", "{}");
  file("mine/job.mlsql", "select");
  auto target = to("json", SaveMode::kOverwrite);
  target.path = folder + "/mine";
  EXPECT_THAT(thrown([&] { engine->save("t", target); }),
              HasSubstr("holds job.mlsql, which no save has written"));
  EXPECT_TRUE(fs::exists(folder + "/mine/job.mlsql"));
  fs::remove(folder + "/mine/job.mlsql");
  for (const char* own : {"mine/.env", "mine/_notes.md"}) {
    const std::string path = file(own, "x");
    EXPECT_THAT(thrown([&] { engine->save("t", target); }), HasSubstr("which no save has written"));
    fs::remove(path);
  }
  for (const char* sparks : {"mine/_SUCCESS", "mine/._SUCCESS.crc", "mine/d=1/.part-0.json.crc"})
    file(sparks, "");
  engine->save("t", target);
  EXPECT_FALSE(fs::exists(folder + "/mine/d=1"));
}

TEST_F(SaveTest, AFailureLeavesNeitherFolderNorRemains) {
  engine->select("select 1 as a", "one");
  auto target = to("json");
  target.partition_by = {"a"};
  EXPECT_THAT(thrown([&] { engine->save("one", target); }), HasSubstr("nothing is left"));
  EXPECT_THAT(thrown([&] { engine->save("t", to("orc")); }), HasSubstr("orc is not written"));
  EXPECT_FALSE(fs::exists(folder + "/out"));
  file("a-file", "x");
  target = to("json");
  target.path = folder + "/a-file/out";
  EXPECT_THAT(thrown([&] { engine->save("t", target); }), HasSubstr("a-file"));
  engine.reset();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(SaveTest, AnotherDiskTakesItToo) {
  struct stat one {
  }, other{};
  if (stat("/dev/shm", &other) != 0 || access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
  stat(folder.c_str(), &one);
  if (one.st_dev == other.st_dev) GTEST_SKIP() << "one disk";
  auto target = to("json");
  target.path = "/dev/shm/" + fs::path(folder).filename().string();
  engine->save("t", target);
  engine->save("t", {"json", target.path, SaveMode::kOverwrite, 1, {}, {}});
  engine->load({"json", target.path, "", {}}, "back");
  EXPECT_EQ(all("back"), all("t"));
  fs::remove_all(target.path);
}

}  // namespace
}  // namespace capstan::duck
