// Sessions of a process that is no task: the task at their target conducts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cluster/test_cluster.h"

namespace capstan {
namespace {

class Client : public ::testing::TestWithParam<TransportKind> {};

INSTANTIATE_TEST_SUITE_P(Transports, Client,
                         ::testing::Values(TransportKind::kTcp, TransportKind::kUnix,
                                           TransportKind::kShm),
                         [](const auto& info) {
                           return std::string(transport_kind_name(info.param));
                         });

template <class F>
Error error_from(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return internal_error("nothing was thrown");
}

// A queue on the parameter server that every graph with these nodes shares.
struct QueueModel {
  QueueModel() : graph(standard_catalog()) {
    AttrMap types = {{"component_types", std::vector<DType>{DType::kFloat}}};
    AttrMap named = types;
    named.set("shared_name", std::string("q"));
    auto device = graph.device("/job:ps/task:0");
    Output queue = graph.add("FIFOQueueV2", {}, named);
    got = graph.add("QueueDequeueV2", {queue}, types);
    size = graph.add("QueueSizeV2", {queue});
    Output inputs[] = {queue, graph.constant(Tensor::scalar<float>(7))};
    put = &graph.add_node("QueueEnqueueV2", inputs);
  }

  // Puts values until one stays: until nobody waits for one any more.
  bool becomes_free(Session& session) {
    Deadline deadline = deadline_in(std::chrono::seconds(20));
    while (std::chrono::steady_clock::now() < deadline) {
      session.run({}, {}, {put});
      if (*session.run({}, {size})[0].data<int32_t>() > 0) return true;
    }
    return false;
  }

  Graph graph;
  Output got, size;
  Node* put;
};

TEST_P(Client, TrainsOnTheClusterOfItsTarget) {
  TestCluster cluster(2, 1, GetParam());
  LinearModel model(2);
  Session session(model.graph, cluster.client_of("worker", 0));
  session.run({}, {}, {model.init});
  for (int i = 0; i < 300; ++i) model.train_on(session, i);
  Session inside(model.graph, cluster.session_on("worker", 0));
  std::vector<Tensor> end = inside.run({}, {model.weights[0].ref, model.step.ref});
  EXPECT_NEAR(*end[0].data<float>(), 2, 1e-1);
  EXPECT_EQ(*end[1].data<int64_t>(), 300);
}

TEST_P(Client, SendsWhatIsNewInItsGraph) {
  TestCluster cluster(1, 1, GetParam());
  Graph graph(standard_catalog());
  Output x = graph.constant(Tensor::scalar<float>(3), "x");
  Session session(graph, cluster.client_of("ps", 0));
  EXPECT_EQ(*session.run({}, {x})[0].data<float>(), 3);
  auto device = graph.device("/job:worker/task:0");
  Output y = graph.add("Mul", {x, graph.constant(Tensor::scalar<float>(5))}, {}, "y");
  EXPECT_EQ(*session.run({}, {y})[0].data<float>(), 15);
  uint64_t before = session.remote_calls();
  EXPECT_EQ(*session.run({{x, Tensor::scalar<float>(4)}}, {y})[0].data<float>(), 20);
  EXPECT_EQ(session.remote_calls() - before, 1u);
}

TEST_P(Client, FetchesAFedValueAndLargeOnes) {
  TestCluster cluster(1, 1, GetParam());
  Graph graph(standard_catalog());
  Output x = graph.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
  Output y = graph.add("Square", {x});
  Session session(graph, cluster.client_of("worker", 0));
  Tensor large(DType::kFloat, Shape{100'000});
  for (int i = 0; i < 100'000; ++i) large.data<float>()[i] = float(i % 100);
  std::vector<Tensor> out = session.run({{x, large}}, {x, y});
  EXPECT_TRUE(out[0].equals(large));
  EXPECT_EQ(out[1].data<float>()[99'999], 99.0f * 99.0f);
}

TEST_P(Client, GetsAnErrorWhole) {
  TestCluster cluster(1, 1, GetParam());
  LinearModel model(1);
  Session session(model.graph, cluster.client_of("worker", 0));
  Error error = error_from([&] { model.train_on(session, 0); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_EQ(error.task(), "/job:ps/task:0");
  EXPECT_FALSE(error.op().empty());
  session.run({}, {}, {model.init});
  model.train_on(session, 0);
}

TEST_P(Client, ATimeoutEndsTheStepOnItsTasksToo) {
  TestCluster cluster(1, 1, GetParam());
  QueueModel model;
  Session session(model.graph, cluster.client_of("worker", 0));
  Output fetch[] = {model.got};
  auto executable = session.prepare({}, fetch, {});
  RunOptions options;
  options.timeout_ms = 50;
  EXPECT_EQ(error_from([&] { session.run(*executable, {}, options); }).code(),
            Code::kDeadlineExceeded);
  session.run({}, {}, {model.put});
  EXPECT_EQ(*session.run({}, {model.size})[0].data<int32_t>(), 1);
}

TEST_P(Client, CloseEndsAStepThatWaits) {
  TestCluster cluster(1, 1, GetParam());
  QueueModel model;
  SessionOptions options = cluster.client_of("worker", 0);
  Session* open = nullptr;
  options.on_wait = [&] {
    if (open) open->close();
  };
  Session session(model.graph, options);
  session.run({}, {model.size});
  open = &session;
  EXPECT_EQ(error_from([&] { session.run({}, {model.got}); }).code(), Code::kCancelled);
  Session other(model.graph, cluster.session_on("worker", 0));
  EXPECT_TRUE(model.becomes_free(other));
}

TEST_P(Client, StepsThatWaitDoNotDelayOthers) {
  TestCluster cluster(1, 1, GetParam());
  QueueModel model;
  Session session(model.graph, cluster.client_of("worker", 0));
  std::vector<std::thread> takers;
  std::atomic<int> taken = 0;
  for (int i = 0; i < 8; ++i) {
    takers.emplace_back([&] { taken += int(*session.run({}, {model.got})[0].data<float>()); });
  }
  for (int i = 0; i < 8; ++i) session.run({}, {}, {model.put});
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(taken, 56);
}

TEST_P(Client, AServerThatEndsTellsItsClientsSo) {
  TestCluster cluster(1, 1, GetParam());
  QueueModel model;
  SessionOptions options = cluster.client_of("worker", 0);
  bool waits = false;
  std::thread stop;
  options.on_wait = [&] {
    if (!waits || stop.joinable()) return;
    stop = std::thread([&] { cluster.end("worker", 0); });
  };
  Session session(model.graph, options);
  session.run({}, {model.size});
  waits = true;
  EXPECT_EQ(error_from([&] { session.run({}, {model.got}); }).code(), Code::kUnavailable);
  stop.join();
}

TEST_P(Client, ResetClearsEveryTask) {
  TestCluster cluster(2, 1, GetParam());
  LinearModel model(2);
  Session session(model.graph, cluster.client_of("worker", 0));
  session.run({}, {}, {model.init});
  Session::reset(cluster.client_of("worker", 0), {});
  for (const VariableRef& v : {model.weights[0], model.weights[1], model.step}) {
    EXPECT_EQ(error_from([&] { session.run({}, {v.ref}); }).code(), Code::kFailedPrecondition);
  }
}

TEST_P(Client, TheUsersSecretFileIsEnough) {
  TestCluster cluster(1, 1, GetParam());
  Graph graph(standard_catalog());
  Output x = graph.constant(Tensor::scalar<float>(3), "x");
  SessionOptions options = cluster.client_of("worker", 0);
  options.client.secret = "";
  options.client.secret_file = cluster.secret_file();
  Session session(graph, options);
  EXPECT_EQ(*session.run({}, {x})[0].data<float>(), 3);
}

TEST_P(Client, IsRefusedWithoutASecretOfTheJob) {
  TestCluster cluster(1, 1, GetParam());
  Graph graph(standard_catalog());
  Output x = graph.constant(Tensor::scalar<float>(3), "x");
  SessionOptions options = cluster.client_of("worker", 0);
  options.client.secret = "a stranger's";
  Session session(graph, options);
  Error error = error_from([&] { session.run({}, {x}); });
  EXPECT_EQ(error.code(), Code::kUnauthenticated);
  EXPECT_THAT(error.message(), ::testing::HasSubstr("CAPSTAN_SECRET_FILE"));
}

TEST(ClientTarget, OfAnotherFormIsRefused) {
  Graph graph(standard_catalog());
  SessionOptions options;
  options.target = "somewhere";
  options.client.secret = "any";
  Error error = error_from([&] { Session session(graph, options); });
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.message(), ::testing::HasSubstr("grpc://host:port"));
}

}  // namespace
}  // namespace capstan
