// Synchronous replicas over real tasks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <random>
#include <thread>

#include "build/device_setter.h"
#include "build/operators.h"
#include "cluster/test_cluster.h"
#include "train/monitored_session.h"

namespace capstan {
namespace {

constexpr int kFeatures = 4, kBatch = 8, kSteps = 20;

// Least squares with a known answer; replica r of step s sees its own examples.
std::pair<Tensor, Tensor> examples(int step, int replica, int count = kBatch) {
  std::mt19937 random(unsigned(step * 16 + replica + 1));
  std::normal_distribution<float> normal;
  Tensor x(DType::kFloat, {count, kFeatures}), y(DType::kFloat, {count, 1});
  for (int i = 0; i < count; ++i) {
    float sum = 0;
    for (int f = 0; f < kFeatures; ++f)
      sum += (x.data<float>()[i * kFeatures + f] = normal(random)) * float(f + 1);
    y.data<float>()[i] = sum;
  }
  return {x, y};
}

Tensor stacked(const std::vector<Tensor>& parts) {
  Shape shape = parts[0].shape();
  shape[0] *= int64_t(parts.size());
  Tensor out(DType::kFloat, shape);
  float* at = out.data<float>();
  for (const Tensor& p : parts) at = std::copy_n(p.data<float>(), p.size(), at);
  return out;
}

struct Model {
  explicit Model(int ps, int worker) : graph(standard_catalog()) {
    DeviceSetterOptions setter;
    setter.ps_tasks = ps;
    setter.worker_device = fmt::format("/job:worker/task:{}", worker);
    ScopeGuard placed;
    if (ps) placed = graph.device(replica_device_setter(setter));
    step = make_global_step(graph);
    x = placeholder(graph, DType::kFloat, {-1, kFeatures}, "x");
    y = placeholder(graph, DType::kFloat, {-1, 1}, "y");
    w = make_variable(graph, Tensor::of<float>({kFeatures, 1}, {0, 0, 0, 0}), {.name = "w"});
    b = make_variable(graph, Tensor::of<float>({1}, {0}), {.name = "b"});
    loss = reduce_mean(square(matmul(x, w.read) + b.read - y));
    optimizer = gradient_descent(0.05);
    variables = {w, b};
    gradients = compute_gradients(graph, loss, variables);
  }

  // Adds the sync part and says how to supervise it.
  MonitoredSessionOptions synchronise(const SyncReplicasOptions& options, bool is_chief,
                                      int64_t tokens = -1) {
    Output globals[] = {step.ref, w.ref, b.ref};
    sync = apply_gradients_in_sync(graph, *optimizer, options, gradients, step, globals);
    MonitoredSessionOptions out;
    out.is_chief = is_chief;
    out.variables = {step, w, b};
    out.global_step = step;
    use_sync_replicas(out, sync, init_tokens(graph, sync, options, step, tokens));
    return out;
  }

  std::vector<std::pair<Output, Tensor>> feeds(std::pair<Tensor, Tensor> data) const {
    return {{x, data.first}, {y, data.second}};
  }

  Graph graph;
  Output x, y, loss;
  VariableRef step, w, b;
  std::unique_ptr<Optimizer> optimizer;
  std::vector<VariableRef> variables;
  std::vector<GradientAndVariable> gradients;
  SyncReplicas sync;
};

std::vector<float> values(const Tensor& t) { return {t.data<float>(), t.data<float>() + t.size()}; }

std::vector<float> weights_of_one_process(int replicas) {
  Model m(0, 0);
  Node& train = apply_gradients(m.graph, *m.optimizer, m.gradients, &m.step);
  VariableRef all[] = {m.step, m.w, m.b};
  Node& init = initialize(m.graph, all);
  Session session(m.graph);
  session.run({}, {}, {&init});
  for (int s = 0; s < kSteps; ++s) {
    std::vector<Tensor> xs, ys;
    for (int r = 0; r < replicas; ++r) {
      auto [x, y] = examples(s, r);
      xs.push_back(x);
      ys.push_back(y);
    }
    session.run({{m.x, stacked(xs)}, {m.y, stacked(ys)}}, {}, {&train});
  }
  return values(session.run({}, {m.w.ref})[0]);
}

class Sync : public ::testing::TestWithParam<TransportKind> {};

INSTANTIATE_TEST_SUITE_P(Transports, Sync,
                         ::testing::Values(TransportKind::kTcp, TransportKind::kShm),
                         [](const auto& info) {
                           return std::string(transport_kind_name(info.param));
                         });

// A fast worker may take a slow one's token, as in TensorFlow; without spare tokens, and with the
// workers in step, each gives one gradient per global step.
TEST_P(Sync, ThreeWorkersGiveTheWeightsOfOneProcessWithTheCombinedBatch) {
  constexpr int kWorkers = 3;
  TestCluster cluster(2, kWorkers, GetParam());
  SyncReplicasOptions options;
  options.replicas_to_aggregate = kWorkers;
  options.total_replicas = kWorkers;
  std::vector<float> result;
  std::barrier in_step(kWorkers);
  std::vector<std::thread> workers;
  for (int r = 0; r < kWorkers; ++r) {
    workers.emplace_back([&, r] {
      Model m(2, r);
      MonitoredSessionOptions supervisor = m.synchronise(options, r == 0, 0);
      supervisor.session = cluster.session_on("worker", r);
      MonitoredSession session(m.graph, supervisor);
      for (int s = 0; s < kSteps; ++s) {
        session.run(m.feeds(examples(s, r)), {}, std::vector<Node*>{m.sync.train_op});
        in_step.arrive_and_wait();
      }
      if (r == 0) result = values(session.session().run({}, {m.w.ref})[0]);
      session.close();
    });
  }
  for (std::thread& t : workers) t.join();
  EXPECT_THAT(result,
              ::testing::Pointwise(::testing::FloatNear(1e-5f), weights_of_one_process(kWorkers)));
}

// replicas_to_aggregate 2 with one worker: each global step takes two of its steps.
TEST_P(Sync, OneWorkerServesTwoAggregates) {
  TestCluster cluster(1, 1, GetParam());
  SyncReplicasOptions options;
  options.replicas_to_aggregate = 2;
  options.total_replicas = 2;
  Model m(1, 0);
  MonitoredSessionOptions supervisor = m.synchronise(options, true);
  supervisor.session = cluster.session_on("worker", 0);
  MonitoredSession session(m.graph, supervisor);
  for (int s = 0; s < 10; ++s)
    session.run(m.feeds(examples(s, 0)), {}, std::vector<Node*>{m.sync.train_op});
  int64_t step = *session.session().run({}, {m.step.ref})[0].data<int64_t>();
  EXPECT_GE(step, 4);
  EXPECT_LE(step, 5);
  session.close();
}

TEST(SyncReplicas, RefusesTooFewTokens) {
  Model m(1, 0);
  SyncReplicasOptions options;
  options.replicas_to_aggregate = 5;
  options.total_replicas = 2;
  m.synchronise(options, true);
  EXPECT_THROW(init_tokens(m.graph, m.sync, options, m.step, 2), Error);
}

}  // namespace
}  // namespace capstan
