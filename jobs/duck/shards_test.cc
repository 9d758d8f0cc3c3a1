#include "jobs/duck/test_engine.h"

namespace capstan::duck {
namespace {

using ::testing::HasSubstr;

TEST_F(DuckTest, ATableHasOnePartitionUntilItIsRepartitioned) {
  engine->select("select 1 as a", "t");
  EXPECT_EQ(engine->partitions("t"), 1);
  engine->repartition("t", 3, "u");
  EXPECT_EQ(engine->partitions("t"), 1);
  EXPECT_EQ(engine->partitions("u"), 3);
}

TEST_F(DuckTest, ShardsHoldAllRowsInOrderEvenlyCut) {
  engine->select("select i, i % 3 = 0 as k from range(300001) as r(i)", "t");
  engine->repartition("t", 2, "t");
  std::vector<script::Shard> shards = engine->write_shards("t", "json", folder + "/shards");
  ASSERT_EQ(shards.size(), 2u);
  EXPECT_EQ(shards[0].path, folder + "/shards/0/data.json");
  EXPECT_EQ(shards[0].rows + shards[1].rows, 300001);
  EXPECT_LE(std::abs(shards[0].rows - shards[1].rows), 1);
  std::string both = content(shards[0].path) + content(shards[1].path), expected;
  for (int i = 0; i < 300001; ++i) {
    expected += fmt::format("{{\"i\":{},\"k\":{}}}\n", i, i % 3 == 0);
  }
  EXPECT_TRUE(both == expected);
}

TEST_F(DuckTest, ShardsMayBeParquet) {
  engine->select("select i, [i, i + 0.5] as v from range(10) as r(i)", "t");
  engine->repartition("t", 3, "t");
  auto shards = engine->write_shards("t", "parquet", folder + "/shards");
  engine->load({"parquet", folder + "/shards", "", {}}, "back");
  EXPECT_EQ(all("back"), all("t"));
  EXPECT_EQ(shards[2].path, folder + "/shards/2/data.parquet");
}

TEST_F(DuckTest, AnEmptyTableGivesEmptyShards) {
  engine->select("select 1 as a where false", "t");
  engine->repartition("t", 2, "t");
  auto shards = engine->write_shards("t", "json", folder + "/shards");
  EXPECT_EQ(content(shards[1].path), "");
  EXPECT_EQ(shards[1].rows, 0);
}

TEST_F(DuckTest, ShardsOfAnotherFormatAreRefused) {
  engine->select("select 1 as a", "t");
  EXPECT_THAT(thrown([&] { engine->write_shards("t", "xml", folder); }),
              HasSubstr("json or parquet"));
}

}  // namespace
}  // namespace capstan::duck
