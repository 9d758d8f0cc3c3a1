#pragma once

// A cluster within one process: every task a server of its own on loopback, on ports that the
// kernel chose.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "build/optimizers.h"
#include "cluster/server.h"
#include "ops/catalog.h"
#include "session/master.h"
#include "session/session.h"

namespace capstan {

class TestCluster {
 public:
  TestCluster(int ps, int workers, TransportKind transport) : transport_(transport) {
    std::map<std::pair<std::string, int>, int> sockets;
    for (int i = 0; i < ps; ++i) add("ps", i, sockets);
    for (int i = 0; i < workers; ++i) add("worker", i, sockets);
    for (auto& [task, fd] : sockets) {
      TaskOptions options;
      options.cluster = spec_;
      options.job = task.first;
      options.task = task.second;
      options.listen_fd = fd;
      options.secret = secret_;
      options.secret_file = secret_file();
      options.transport = transport;
      options.threads = 1;
      servers_[task] = Server::start(standard_catalog(), std::move(options));
      conduct_for_clients(*servers_[task]);
    }
  }
  ~TestCluster() { std::filesystem::remove_all(folder_); }

  const ClusterSpec& spec() const { return spec_; }
  std::shared_ptr<Server> server(const std::string& job, int task) {
    return servers_.at({job, task});
  }

  void end(const std::string& job, int task) { servers_.erase({job, task}); }

  SessionOptions session_on(const std::string& job, int task) {
    SessionOptions options;
    options.server = server(job, task);
    options.target = options.server->target();
    return options;
  }

  // For a session of a process that is no task, and knows the job's secret.
  SessionOptions client_of(const std::string& job, int task) {
    SessionOptions options;
    options.target = server(job, task)->target();
    options.client.secret = secret_;
    options.client.transport = transport_;
    return options;
  }
  // The user's, as it were.
  std::string secret_file() const { return folder_ / "secret"; }

 private:
  void add(const std::string& job, int index, std::map<std::pair<std::string, int>, int>& sockets) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bool listening = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     listen(fd, 64) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (!listening) throw unavailable("no loopback port for {}/{}", job, index);
    sockets[{job, index}] = fd;
    spec_.add_task(job, index, fmt::format("127.0.0.1:{}", ntohs(address.sin_port)));
  }

  const TransportKind transport_;
  const std::string secret_ = "a secret for tests";
  const std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                        fmt::format("capstan_test_{:x}", SystemRandom().u64());
  ClusterSpec spec_;
  std::map<std::pair<std::string, int>, std::shared_ptr<Server>> servers_;
};

// y = w x + b on parameter servers, with a global step: the program of every second tutorial.
struct LinearModel {
  explicit LinearModel(int ps_tasks, int worker = 0, int variables = 1)
      : graph(standard_catalog()) {
    auto device = [this, next = 0, ps_tasks, worker](const Node& node) mutable {
      if (!node.device().empty()) return node.device();
      bool variable = node.def().variable;
      return variable ? fmt::format("/job:ps/task:{}", next++ % ps_tasks)
                      : fmt::format("/job:worker/task:{}", worker);
    };
    auto placed = graph.device(DeviceFunction(device));
    step = make_global_step(graph);
    x = graph.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
    y = graph.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "y");
    std::vector<Output> terms;
    for (int i = 0; i < variables; ++i) {
      weights.push_back(scalar("w" + std::to_string(i)));
      terms.push_back(graph.add("Mul", {x, weights.back().read}));
    }
    weights.push_back(scalar("b"));
    terms.push_back(weights.back().read);
    loss = graph.add("Square", {graph.add("Sub", {y, graph.add("AddN", terms)})});
    optimizer = gradient_descent(0.05 / variables);
    train = &minimize(graph, *optimizer, loss, weights, &step);
    std::vector<VariableRef> all = weights;
    all.push_back(step);
    init = &initialize(graph, all);
  }

  VariableRef scalar(std::string name) {
    VariableOptions options;
    options.name = std::move(name);
    return make_variable(graph, Tensor::scalar<float>(0), options);
  }

  // One step on the i-th example of y = 2 x + 10.
  float train_on(Session& session, int i) {
    float v = float(i % 7) - 3;
    std::vector<Tensor> out =
        session.run({{x, Tensor::scalar(v)}, {y, Tensor::scalar(2 * v + 10)}}, {loss}, {train});
    return *out[0].data<float>();
  }

  Graph graph;
  Output x, y, loss;
  VariableRef step;
  std::vector<VariableRef> weights;  // the last one is the bias
  std::unique_ptr<Optimizer> optimizer;
  Node* train = nullptr;
  Node* init = nullptr;
};

}  // namespace capstan
