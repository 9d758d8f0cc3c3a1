// Steps that cross tasks, over every transport.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <tuple>

#include "base/bytes.h"
#include "cluster/protocol.h"
#include "cluster/test_cluster.h"
#include "proto/graph.pb.h"

namespace capstan {
namespace {

class Cluster : public ::testing::TestWithParam<TransportKind> {};

INSTANTIATE_TEST_SUITE_P(Transports, Cluster,
                         ::testing::Values(TransportKind::kTcp, TransportKind::kUnix,
                                           TransportKind::kShm),
                         [](const auto& info) {
                           return std::string(transport_kind_name(info.param));
                         });

TEST_P(Cluster, LinearRegressionTrainsOnAParameterServer) {
  TestCluster cluster(1, 1, GetParam());
  LinearModel model(1);
  Session session(model.graph, cluster.session_on("worker", 0));
  session.run({}, {}, {model.init});
  for (int i = 0; i < 500; ++i) model.train_on(session, i);
  std::vector<Tensor> end =
      session.run({}, {model.weights[0].ref, model.weights[1].ref, model.step.ref});
  EXPECT_NEAR(*end[0].data<float>(), 2, 1e-2);
  EXPECT_NEAR(*end[1].data<float>(), 10, 1e-2);
  EXPECT_EQ(*end[2].data<int64_t>(), 500);
}

TEST_P(Cluster, AsyncWithOneWorkerFollowsTheOneProcessCurveExactly) {
  LinearModel local_model(1);
  LinearModel model(2);
  TestCluster cluster(2, 1, GetParam());
  Session session(model.graph, cluster.session_on("worker", 0));
  TestCluster alone(1, 1, GetParam());
  Session one(local_model.graph, alone.session_on("worker", 0));
  session.run({}, {}, {model.init});
  one.run({}, {}, {local_model.init});
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(model.train_on(session, i), local_model.train_on(one, i)) << "at step " << i;
}

// The number of requests that one training step sends to each parameter server.
std::vector<uint64_t> requests_per_step(int ps, int variables, TransportKind transport) {
  TestCluster cluster(ps, 1, transport);
  LinearModel model(ps, 0, variables);
  Session session(model.graph, cluster.session_on("worker", 0));
  session.run({}, {}, {model.init});
  model.train_on(session, 0);
  std::vector<uint64_t> before, counts;
  for (int i = 0; i < ps; ++i) before.push_back(cluster.server("ps", i)->messages());
  for (int i = 0; i < 10; ++i) model.train_on(session, i);
  for (int i = 0; i < ps; ++i)
    counts.push_back((cluster.server("ps", i)->messages() - before[size_t(i)]) / 10);
  return counts;
}

TEST_P(Cluster, AStepCostsTwoRequestsWithOneServerWhateverTheNumberOfVariables) {
  EXPECT_THAT(requests_per_step(1, 1, GetParam()), ::testing::ElementsAre(2));
  EXPECT_THAT(requests_per_step(1, 100, GetParam()), ::testing::ElementsAre(2));
}

TEST_P(Cluster, AStepCostsTwoRequestsPerServerAndAThirdWhereTheGlobalStepLives) {
  EXPECT_THAT(requests_per_step(3, 5, GetParam()), ::testing::ElementsAre(3, 2, 2));
  EXPECT_THAT(requests_per_step(3, 100, GetParam()), ::testing::ElementsAre(3, 2, 2));
}

TEST_P(Cluster, WhatAWorkerHoldsDoesNotChangeWhileAnotherTrains) {
  TestCluster cluster(1, 2, GetParam());
  Graph graph(standard_catalog());
  auto on_server = graph.device("/job:ps/task:0");
  VariableOptions named;
  named.name = "large";
  Tensor ones(DType::kFloat, Shape{10'000});
  std::fill_n(ones.data<float>(), ones.size(), 1.0f);
  VariableRef large = make_variable(graph, ones, named);
  Output with[] = {large.ref, graph.constant(ones)};
  Node& add = graph.add_node("AssignAdd", with);
  Session a(graph, cluster.session_on("worker", 0)), b(graph, cluster.session_on("worker", 1));
  a.run({}, {}, {large.initializer});
  Output fetch[] = {large.read};
  RunResult held = a.run(*a.prepare({}, fetch, {}), {});
  for (int i = 0; i < 3; ++i) b.run({}, {}, {&add});
  std::vector<float> seen(held.values[0].data<float>(), held.values[0].data<float>() + 10'000);
  EXPECT_THAT(seen, ::testing::Each(1.0f));
  EXPECT_EQ(a.run({}, {large.read})[0].data<float>()[9'999], 4);
}

TEST_P(Cluster, VariablesAreSharedByTheSessionsOfTwoWorkers) {
  TestCluster cluster(1, 2, GetParam());
  LinearModel first(1, 0), second(1, 1);
  Session a(first.graph, cluster.session_on("worker", 0));
  Session b(second.graph, cluster.session_on("worker", 1));
  a.run({}, {}, {first.init});
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) second.train_on(b, i);
  });
  for (int i = 0; i < 100; ++i) first.train_on(a, i);
  other.join();
  EXPECT_EQ(*a.run({}, {first.step.ref})[0].data<int64_t>(), 200);
}

TEST_P(Cluster, AnUninitialisedVariableIsNamedWithItsTask) {
  TestCluster cluster(1, 1, GetParam());
  LinearModel model(1);
  Session session(model.graph, cluster.session_on("worker", 0));
  try {
    model.train_on(session, 0);
    FAIL() << "nothing was initialised";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kFailedPrecondition);
    EXPECT_EQ(e.task(), "/job:ps/task:0");
  }
}

TEST_P(Cluster, WrongSizesFromAWorkerAreAnErrorAndTheServerLivesOn) {
  TestCluster cluster(1, 1, GetParam());
  Graph g(standard_catalog());
  auto fed = [&](DType dtype) { return g.add("Placeholder", {}, {{"dtype", dtype}}); };
  Output x = fed(DType::kFloat), ids = fed(DType::kInt32), sizes = fed(DType::kInt64);
  auto device = g.device("/job:ps/task:0");
  const Tensor two = Tensor::scalar<int32_t>(2);
  const std::vector<Output> hazards = {
      g.add("UnsortedSegmentSum", {x, ids, g.constant(two)}), g.add("Gather", {x, ids}),
      g.add("Fill", {ids, x}), g.add("Tile", {x, sizes}), g.add("Slice", {x, sizes, sizes})};
  Output good = g.add("Neg", {x});
  Session session(g, cluster.session_on("worker", 0));
  const Tensor rows = Tensor::of<float>({7}, {1, 2, 3, 4, 5, 6, 7});
  const Tensor bad_ids = Tensor::of<int32_t>({3}, {1, 99, 0});
  const Tensor most = Tensor::of<int64_t>({1}, {INT64_MAX});
  for (const Output& hazard : hazards) {
    EXPECT_THAT(
        [&] {
          session.run({{x, rows}, {ids, bad_ids}, {sizes, most}}, {hazard});
        },
        ::testing::Throws<Error>(::testing::Property(&Error::code, Code::kInvalidArgument)))
        << hazard.name();
    EXPECT_EQ(*session.run({{x, rows}}, {good})[0].data<float>(), -1);
  }
}

// A piece as a peer that has the secret may send it: whatever it likes.
std::string piece_of_one_node(const std::string& op, std::string_view attr, int64_t value) {
  pb::GraphDef def;
  pb::NodeDef& node = *def.add_node();
  node.set_name("bad");
  node.set_op(op);
  (*node.mutable_attr())["T"].set_type(pb::DT_FLOAT);
  (*node.mutable_attr())[std::string(attr)].set_i(value);
  const std::string graph = def.SerializeAsString();
  std::string out;
  put_varint(out, graph.size());
  out += graph;
  put_varint(out, 0);  // arguments
  put_varint(out, 0);  // outputs
  return out;
}

TEST(Pieces, OfAPeerWithAttrsOutOfBoundsAreRefused) {
  const std::tuple<const char*, const char*, int64_t> bad[] = {
      {"AddN", "N", 0}, {"Pack", "N", 0}, {"Split", "num_split", 0}, {"_Arg", "index", -5}};
  for (const auto& [op, attr, value] : bad) {
    const std::string piece = piece_of_one_node(op, attr, value);
    EXPECT_THAT([&] { decode_piece(piece, standard_catalog()); },
                ::testing::Throws<Error>(::testing::Property(&Error::code, Code::kInvalidArgument)))
        << op;
  }
}

TEST_P(Cluster, AnEnqueueAndADequeueMeetAcrossTasks) {
  TestCluster cluster(1, 1, GetParam());
  Graph g(standard_catalog());
  AttrMap types = {{"component_types", std::vector<DType>{DType::kFloat}},
                   {"shared_name", std::string("q")}};
  Output queue, got;
  {
    auto device = g.device("/job:ps/task:0");
    queue = g.add("FIFOQueueV2", {}, types);
    got =
        g.add("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  }
  Output inputs[] = {queue, g.constant(Tensor::scalar<float>(7))};
  Node& put = g.add_node("QueueEnqueueV2", inputs);
  Session session(g, cluster.session_on("worker", 0));
  EXPECT_EQ(*session.run({}, {got}, {&put})[0].data<float>(), 7);
}

TEST_P(Cluster, AStepGoesOnWithOtherTasksAfterItWaitedForItsOwnQueue) {
  TestCluster cluster(1, 1, GetParam());
  Graph g(standard_catalog());
  const std::vector<DType> types = {DType::kFloat};
  VariableRef total;
  {
    auto device = g.device("/job:ps/task:0");
    total = make_variable(g, Tensor::scalar<float>(1), VariableOptions{.name = "total"});
  }
  Output queue = g.add("FIFOQueueV2", {}, {{"component_types", types}, {"shared_name", "own"}});
  Output got = g.add("QueueDequeueV2", {queue}, {{"component_types", types}});
  Output sum = g.add("AddV2", {got, total.read});
  Output to_server[] = {total.ref, sum};
  Node& push = g.add_node("Assign", to_server);
  Output to_queue[] = {queue, g.constant(Tensor::scalar<float>(10))};
  Node& put = g.add_node("QueueEnqueueV2", to_queue);

  Session other(g, cluster.session_on("worker", 0));
  SessionOptions options = cluster.session_on("worker", 0);
  bool blocked = false;
  options.on_wait = [&] {
    if (std::exchange(blocked, false)) other.run({}, {}, {&put});
  };
  Session session(g, options);
  session.run({}, {}, {total.initializer});
  for (float expected : {11.0f, 21.0f, 31.0f}) {
    blocked = true;
    EXPECT_EQ(*session.run({}, {sum}, {&push})[0].data<float>(), expected);
    EXPECT_EQ(*session.run({}, {total.read})[0].data<float>(), expected);
  }
}

TEST_P(Cluster, AStepThatGetsNoFurtherSaysWhatItWaitsForAndWhere) {
  TestCluster cluster(1, 1, GetParam());
  Graph g(standard_catalog());
  const std::vector<DType> types = {DType::kFloat};
  Output queue, got;
  {
    auto device = g.device("/job:ps/task:0");
    queue = g.add("FIFOQueueV2", {}, {{"component_types", types}, {"shared_name", "q"}});
    got = g.add("QueueDequeueV2", {queue}, {{"component_types", types}});
  }
  Output inputs[] = {queue, g.constant(Tensor::scalar<float>(7))};
  Node& put = g.add_node("QueueEnqueueV2", inputs);
  Session other(g, cluster.session_on("worker", 0));
  std::vector<std::string> notices;
  SessionOptions options = cluster.session_on("worker", 0);
  options.notice_after = std::chrono::milliseconds(1);
  options.on_notice = [&](const std::string& line) {
    notices.push_back(line);
    other.run({}, {}, {&put});
  };
  Session session(g, options);
  EXPECT_EQ(*session.run({}, {got})[0].data<float>(), 7);
  ASSERT_FALSE(notices.empty());
  EXPECT_THAT(notices[0], ::testing::EndsWith("for QueueDequeueV2 'QueueDequeueV2' on "
                                              "/job:ps/task:0"));
}

TEST_P(Cluster, PiecesOfPlansThatAreGoneAreForgotten) {
  TestCluster cluster(1, 1, GetParam());
  Graph g(standard_catalog());
  std::vector<Output> values;
  {
    auto device = g.device("/job:ps/task:0");
    VariableRef v = make_variable(g, Tensor::scalar<float>(1), VariableOptions{.name = "v"});
    for (int i = 0; i < 260; ++i)
      values.push_back(g.add("AddV2", {v.read, g.constant(Tensor::scalar<float>(float(i)))}));
    Session(g, cluster.session_on("worker", 0)).run({}, {}, {v.initializer});
  }
  Session session(g, cluster.session_on("worker", 0));
  auto server = cluster.server("ps", 0);
  auto messages_of = [&](const Output& value) {
    const uint64_t before = server->messages();
    session.run({}, {value});
    return server->messages() - before;
  };
  uint64_t first = 0, last = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    last = messages_of(values[i]);
    if (i == 100) first = last;
    if (i == 200) messages_of(values[0]);
  }
  EXPECT_EQ(last, first + 1) << "when the session lets go of a plan the server hears of it";
  EXPECT_EQ(messages_of(values[0]), first - 1) << "what was used not long ago is still there";
  EXPECT_EQ(messages_of(values[1]), first + 1) << "what was not used for longest is gone";
}

TEST_P(Cluster, CloseEndsACallThatIsBlockedOnAnotherTaskAtOnce) {
  TestCluster cluster(1, 1, GetParam());
  Graph g(standard_catalog());
  Output got;
  {
    auto device = g.device("/job:ps/task:0");
    Output queue =
        g.add("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
    got =
        g.add("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  }
  SessionOptions options = cluster.session_on("worker", 0);
  std::function<void()> on_wait = [] {};
  bool running = false;
  options.on_wait = [&] {
    if (running) on_wait();
  };
  Session session(g, options);
  auto executable = session.prepare({}, std::vector<Output>{got}, {});
  on_wait = [&] { session.close(); };
  running = true;
  try {
    session.run(*executable, {});
    FAIL() << "the run should have been cancelled";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kCancelled) << e.what();
  }
}

TEST_P(Cluster, AServerEndsWhenEveryWorkerHasLeft) {
  TestCluster cluster(1, 2, GetParam());
  std::thread ps([&] { cluster.server("ps", 0)->join(); });
  cluster.server("worker", 0)->leave();
  cluster.server("worker", 1)->leave();
  ps.join();
}

TEST(ClusterSpecErrors, NameTheTasksThatThereAre) {
  ClusterSpec spec = ClusterSpec::from_json(R"({"ps": ["a:1"], "worker": {"1": "b:2"}})");
  EXPECT_EQ(spec.address("worker", 1), "b:2");
  try {
    spec.address("worker", 0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                ::testing::HasSubstr(
                    "task 0 of job 'worker' is not in the cluster spec, which has ps/0, worker/1"));
  }
  EXPECT_THROW(ClusterSpec::from_json("[1]"), Error);
  EXPECT_THROW(ClusterSpec::from_json(R"({"ps": [7]})"), Error);
}

}  // namespace
}  // namespace capstan
