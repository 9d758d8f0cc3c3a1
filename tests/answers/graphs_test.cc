// Random graphs of rows give one answer, however they are run. A failure names its seed;
// --gtest_random_seed=<seed> runs that graph alone, in every way.

#include <gtest/gtest.h>

#include <set>

#include "answers/random_graph.h"
#include "answers/ways.h"

namespace capstan {
namespace {

void collect(const Node& node, std::set<int>& ids) {
  if (!ids.insert(node.id()).second) return;
  for (const Output& in : node.inputs()) collect(*in.node, ids);
}

// The nodes that the answer comes from, a line each.
std::string text_of(const Question& question) {
  std::set<int> ids;
  for (const Output& fetch : question.fetches) collect(*fetch.node, ids);
  std::string text;
  for (int id : ids) {
    const Node& node = question.graph.node(id);
    text += fmt::format("  {} = {}(", node.name(), node.op());
    for (const Output& in : node.inputs())
      text += (&in == &node.inputs()[0] ? "" : ", ") + in.name();
    text += ")";
    for (int i = 0; i < node.outputs(); ++i)
      text += fmt::format(" {}{}", dtype_name(node.output_type(i)), node.output_shape(i));
    text += "\n";
  }
  return text;
}

constexpr int kParts = 6;  // side by side, where there are cores

class RandomGraphs : public testing::TestWithParam<int> {
 protected:
  // This part's share of the seeds 1 to `graphs`; the one seed that was asked for, in every way.
  void expect_one_answer(int graphs, const GraphSizes& sizes) {
    const int asked = GTEST_FLAG_GET(random_seed);
    if (asked % kParts == GetParam() && asked != 0) return expect_one_answer_of(asked, sizes, all_);
    for (int seed = GetParam() + 1; seed <= graphs && asked == 0 && !HasFailure(); seed += kParts)
      expect_one_answer_of(seed, sizes, some_ways(seed));
  }

 private:
  std::vector<Way> some_ways(int seed) const {
    Dice dice{uint64_t(seed)};
    std::vector<Way> ways;
    for (int i = 0; i < 6; ++i) ways.push_back(dice.pick(all_));
    return ways;
  }

  void expect_one_answer_of(int seed, const GraphSizes& sizes, const std::vector<Way>& ways) {
    auto question = random_graph(uint64_t(seed), sizes);
    for (const Way& way : ways) {
      const std::string wrong = runner_.differs(*question, way);
      ASSERT_EQ(wrong, "") << "--gtest_random_seed=" << seed << "\n" << text_of(*question);
    }
  }

  const std::vector<Way> all_ = all_ways();
  Runner runner_;
};

TEST_P(RandomGraphs, GiveOneAnswerHoweverTheyAreRun) { expect_one_answer(3000, {}); }

TEST_P(RandomGraphs, GiveOneAnswerWhenTheirLoopsAreShared) { expect_one_answer(120, kLargeGraphs); }

INSTANTIATE_TEST_SUITE_P(Parts, RandomGraphs, testing::Range(0, kParts));

}  // namespace
}  // namespace capstan
