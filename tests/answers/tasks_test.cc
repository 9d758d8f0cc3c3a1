// A step that is cut between two tasks gives the answer of a step in one.

#include <gtest/gtest.h>

#include <algorithm>

#include "answers/random_graph.h"
#include "answers/samples.h"
#include "cluster/test_cluster.h"

namespace capstan {
namespace {

bool holds_references(const Node& node) {
  return node.def().variable || std::ranges::any_of(node.inputs(), [](const Output& in) {
           return in.node->def().variable;
         });
}

// Any node on either task, but variables, of which one op may take several, and what takes their
// references, on one.
void place(Question& q, Dice& dice) {
  for (int id = 0; id < q.graph.size(); ++id) {
    Node& node = q.graph.node(id);
    const bool ps = holds_references(node) || dice.chance(50);
    q.graph.set_device(node, ps ? "/job:ps/task:0" : "/job:worker/task:0");
  }
}

std::vector<Node*> initializers(Question& q) {
  std::vector<Node*> nodes;
  for (auto& [variable, value] : q.variables) {
    auto placed = q.graph.device(variable.node->device());
    nodes.push_back(q.graph.add("Assign", {variable, q.graph.constant(value)}).node);
  }
  return nodes;
}

class TwoTasks : public testing::TestWithParam<TransportKind> {
 protected:
  std::string differs(Question& q, Dice dice) {
    place(q, dice);
    const std::vector<Node*> init = initializers(q);
    Session session(q.graph, cluster_.session_on("worker", 0));
    try {
      if (!init.empty()) session.run(std::span<const std::pair<Output, Tensor>>(), {}, init);
      return q.difference(session.run(q.feeds, q.fetches));
    } catch (const Error& e) {
      return e.what();
    }
  }

 private:
  TestCluster cluster_{1, 1, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Transports, TwoTasks,
                         testing::Values(TransportKind::kTcp, TransportKind::kShm),
                         [](const auto& info) {
                           return std::string(transport_kind_name(info.param));
                         });

TEST_P(TwoTasks, GiveTheAnswerOfOneForRandomGraphs) {
  for (uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
    const bool large = seed % 20 == 0;
    auto question = random_graph(seed, large ? kLargeGraphs : GraphSizes());
    EXPECT_EQ(differs(*question, Dice(seed)), "") << "seed " << seed;
  }
}

TEST_P(TwoTasks, GiveTheAnswerOfOneForEverySample) {
  uint64_t number = 0;
  for (const OpDef* row : standard_catalog().all()) {
    for (std::string_view text : row->samples) {
      Question q;
      auto scope = q.graph.name_scope(fmt::format("sample_{}", ++number));
      ask(q, *row, parse_sample(*row, text), Origin::kFed, kDetours[number % std::size(kDetours)]);
      EXPECT_EQ(differs(q, Dice(number)), "") << row->name << " " << text;
    }
  }
}

}  // namespace
}  // namespace capstan
