#include "cluster/tf_config.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace capstan {
namespace {

std::string message(std::string_view text) {
  try {
    parse_tf_config(text);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(TfConfig, NamesTheTaskAndItsCluster) {
  TaskRole role = parse_tf_config(
      R"({"cluster": {"ps": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}})");
  EXPECT_EQ(role.cluster.address("worker", 1), "c:1");
  EXPECT_EQ(role.job, "worker");
  EXPECT_EQ(role.task, 1);
  EXPECT_FALSE(role.alone());
  EXPECT_FALSE(role.is_chief());
}

TEST(TfConfig, WithoutAClusterTheProgramIsAlone) {
  for (const char* text : {"", "{}", R"({"environment": "cloud"})"}) {
    EXPECT_TRUE(parse_tf_config(text).alone()) << text;
    EXPECT_TRUE(parse_tf_config(text).is_chief()) << text;
  }
}

TEST(TfConfig, TakesAnIndexThatIsText) {
  EXPECT_EQ(parse_tf_config(R"({"task": {"type": "ps", "index": "2"}})").task, 2);
}

TEST(TfConfig, TheChiefIsWhoIsCalledSoOrElseTheFirstWorker) {
  auto is_chief = [](std::string_view cluster, std::string_view type) {
    return parse_tf_config(fmt::format(R"({{"cluster": {}, "task": {{"type": "{}", "index": 0}}}})",
                                       cluster, type))
        .is_chief();
  };
  EXPECT_TRUE(is_chief(R"({"worker": ["a:1"]})", "worker"));
  EXPECT_FALSE(is_chief(R"({"worker": ["a:1"], "chief": ["b:1"]})", "worker"));
  EXPECT_TRUE(is_chief(R"({"worker": ["a:1"], "master": ["b:1"]})", "master"));
  EXPECT_FALSE(is_chief(R"({"worker": ["a:1"], "ps": ["b:1"]})", "ps"));
}

TEST(TfConfig, SaysWhatIsWrong) {
  EXPECT_NE(message("{\"cluster\"").find("TF_CONFIG is no JSON: byte"), std::string::npos);
  EXPECT_NE(message("[1]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(message(R"({"task": {"type": 3}})").find("the task {\"type\":3}"), std::string::npos);
  EXPECT_NE(message(R"({"task": {"type": "ps", "index": "x"}})").find("is not of the form"),
            std::string::npos);
  EXPECT_NE(message(R"({"cluster": [1]})").find("TF_CONFIG: the cluster spec"), std::string::npos);
}

}  // namespace
}  // namespace capstan
