// A 784-100-10 perceptron in C++, on a cluster or in one process:
//
//   ./capstan run --ps 2 --workers 2 build/release/examples/mnist
//   build/release/examples/mnist
//
// Every task runs this same program; its role is in TF_CONFIG, which `capstan run` sets.

#include <capstan/capstan.h>

#include <cmath>
#include <cstdio>

#include "mnist_data.h"

namespace {

using namespace capstan;

constexpr int64_t kLastStep = 3000, kBatch = 100;

struct Model {
  Output x, y, loss, accuracy;
  std::vector<VariableRef> weights, all;
  VariableRef global_step;
  Node* train = nullptr;
};

Output dense(Graph& g, Model& m, Output x, int64_t units, const std::string& name) {
  int64_t fan_in = x.shape()[1];
  float deviation = 1 / std::sqrt(float(fan_in));
  auto initial = [&] { return truncated_normal(g, {fan_in, units}, deviation); };
  VariableRef w = make_variable(g, initial, {.name = name + "/w", .from_function = true});
  VariableRef b = make_variable(g, [&] { return zeros(g, {units}, DType::kFloat); },
                                {.name = name + "/b", .from_function = true});
  m.weights.insert(m.weights.end(), {w, b});
  return matmul(x, w.read) + b.read;
}

Model build(Graph& g, Optimizer& optimizer) {
  Model m;
  m.x = placeholder(g, DType::kFloat, {-1, 784}, "x");
  m.y = placeholder(g, DType::kInt32, {-1}, "y");
  Output logits = dense(g, m, relu(dense(g, m, m.x, 100, "hidden")), 10, "output");
  m.loss = reduce_mean(sparse_softmax_cross_entropy(logits, m.y));
  m.accuracy = reduce_mean(cast(equal(argmax(logits, 1), cast(m.y, DType::kInt64)), DType::kFloat));
  m.global_step = make_global_step(g);
  m.train = &minimize(g, optimizer, m.loss, m.weights, &m.global_step);
  m.all = m.weights;
  m.all.push_back(m.global_step);
  m.all.insert(m.all.end(), optimizer.variables().begin(), optimizer.variables().end());
  return m;
}

std::pair<Tensor, Tensor> batch(const Images& data, int64_t size, std::mt19937& random) {
  Tensor images(DType::kFloat, {size, 784}), labels(DType::kInt32, {size});
  for (int64_t i = 0; i < size; ++i) {
    int64_t pick = int64_t(random() % uint64_t(data.count()));
    std::copy_n(&data.pixels[size_t(pick * 784)], 784, images.data<float>() + i * 784);
    labels.data<int32_t>()[i] = data.labels[size_t(pick)];
  }
  return {images, labels};
}

int run(const TaskRole& role, std::shared_ptr<Server> server) {
  Mnist data = load_mnist();
  std::printf("data: %s\n", data.source.c_str());
  Graph g(standard_catalog());
  ScopeGuard placed;
  if (server) {
    DeviceSetterOptions setter;
    setter.ps_tasks = role.cluster.tasks("ps");
    setter.worker_device = server->task_name();
    placed = g.device(replica_device_setter(setter));
  }
  auto optimizer = adam(0.001);
  Model m = build(g, *optimizer);

  MonitoredSessionOptions options;
  options.is_chief = role.is_chief();
  options.session.server = server;
  options.session.target = server ? server->target() : "";
  options.variables = m.all;
  options.global_step = m.global_step;
  options.max_steps = kLastStep;
  options.loss = m.loss;  // `capstan run` shows it
  MonitoredSession session(g, options);
  std::mt19937 random(unsigned(role.task) + 1);
  for (int64_t i = 0; !session.should_stop(); ++i) {
    auto [images, labels] = batch(data.train, kBatch, random);
    std::pair<Output, Tensor> feeds[] = {{m.x, images}, {m.y, labels}};
    float loss = *session.run(feeds, {&m.loss, 1}, {&m.train, 1})[0].data<float>();
    if (i % 500 == 0) std::printf("step: %ld, loss: %.4f\n", long(session.step()), loss);
    std::fflush(stdout);
  }
  if (options.is_chief) {
    Tensor images =
        Tensor::of<float>({data.test.count(), 784}, std::span<const float>(data.test.pixels));
    Tensor labels =
        Tensor::of<int32_t>({data.test.count()}, std::span<const int32_t>(data.test.labels));
    float accuracy =
        *session.session().run({{m.x, images}, {m.y, labels}}, {m.accuracy})[0].data<float>();
    std::printf("test accuracy: %.4f\n", accuracy);
  }
  session.close();
  if (server) server->leave();
  return 0;
}

}  // namespace

int main() {
  try {
    TaskRole role = role_from_environment();
    if (role.alone()) return run(role, nullptr);
    TaskOptions options;
    options.cluster = role.cluster;
    options.job = role.job;
    options.task = role.task;
    apply_settings(settings_from_environment(), options);
    auto server = Server::start(standard_catalog(), options);
    conduct_for_clients(*server);
    if (role.is_server()) {
      server->join();
      return 0;
    }
    return run(role, server);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mnist: %s\n", e.what());
    return 1;
  }
}
