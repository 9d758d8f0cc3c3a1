// Steps from C++ on one parameter server in a process of its own, over TCP, beside bare sockets
// that make as many round trips, or carry as many bytes, between two processes in the same way.
//
//   step_bench [--json] [--seconds 1]

#include <array>
#include <cstring>

#include "build/variables.h"
#include "cluster/server.h"
#include "compare.h"
#include "ops/catalog.h"
#include "raw_exchange.h"
#include "session/session.h"

namespace capstan {
namespace {

constexpr int64_t kBulkFloats = 650'000;  // 2.6 MB, the weights of 784-500-500-10
constexpr size_t kPingBytes = 64;

struct Listener {
  Fd fd = listen_tcp(resolve({"127.0.0.1", 0}).front());
  std::string address = local_address(fd.get()).text();
};

TaskOptions task(const ClusterSpec& cluster, const std::string& job, int listen_fd) {
  TaskOptions options;
  options.cluster = cluster;
  options.job = job;
  options.listen_fd = listen_fd;
  options.secret = "of this benchmark";
  options.transport = TransportKind::kTcp;
  options.threads = 1;
  return options;
}

void serve(const ClusterSpec& cluster, int listen_fd, const std::function<void(uint16_t)>& ready) {
  auto server = Server::start(standard_catalog(), task(cluster, "ps", listen_fd));
  ready(1);
  server->join();
}

VariableRef variable(Graph& graph, const std::string& name, const Shape& shape) {
  auto placed = graph.device("/job:ps/task:0");
  Tensor zero(DType::kFloat, shape);
  std::memset(zero.raw(), 0, zero.bytes());
  VariableOptions options;
  options.name = name;
  return make_variable(graph, std::move(zero), options);
}

// Reads a number on the worker and adds it, doubled, on the parameter server.
Node& null_step(Graph& graph, const VariableRef& number) {
  Output twice;
  {
    auto worker = graph.device("/job:worker/task:0");
    twice = graph.add("Mul", {number.read, graph.constant(Tensor::scalar(2.0f))});
  }
  auto ps = graph.device("/job:ps/task:0");
  return *graph.add("AssignAdd", {number.ref, twice}).node;
}

// The step's own count of its round trips.
uint64_t calls_of(Session& session, const std::function<void()>& step) {
  step();  // ships the plan
  uint64_t before = session.remote_calls();
  step();
  return session.remote_calls() - before;
}

std::function<void()> repeated(std::function<void()> exchange, uint64_t times) {
  return [=] {
    for (uint64_t i = 0; i < times; ++i) exchange();
  };
}

// Processes are made before the threads of this one's server.
struct Bench {
  Listener ps, worker;
  ClusterSpec cluster = [this] {
    ClusterSpec spec;
    spec.add_task("ps", 0, ps.address);
    spec.add_task("worker", 0, worker.address);
    return spec;
  }();
  Child raw_ping{[](const auto& ready) { raw_server(kPingBytes, ready); }};
  Child raw_bulk{[](const auto& ready) { raw_server(kBulkFloats * 4, ready); }};
  Child server{[this](const auto& ready) { serve(cluster, ps.fd.release(), ready); }};
  std::shared_ptr<Server> conductor =
      Server::start(standard_catalog(), task(cluster, "worker", worker.fd.release()));

  SessionOptions session_options() const {
    SessionOptions options;
    options.server = conductor;
    options.target = conductor->target();
    return options;
  }

  void null_steps(const Report& report) const {
    Graph graph(standard_catalog());
    VariableRef number = variable(graph, "number", Shape{});
    const std::array targets = {&null_step(graph, number)};
    Session session(graph, session_options());
    session.run({}, {}, {number.initializer});
    auto prepared = session.prepare({}, {}, targets);
    auto step = [&] { (void)session.run(*prepared, {}); };
    uint64_t calls = calls_of(session, step);
    report.run({fmt::format("C++ null step, TCP, {} round trips", calls), step,
                repeated(raw_exchange(raw_ping, kPingBytes), calls), "raw TCP", 0.6});
  }

  // A step that is fed new weights and fetches others.
  void bulk_steps(const Report& report) const {
    Graph graph(standard_catalog());
    VariableRef pulled = variable(graph, "pulled", Shape{kBulkFloats});
    VariableRef pushed = variable(graph, "pushed", Shape{kBulkFloats});
    Output fed =
        graph.add("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", Shape{kBulkFloats}}});
    graph.set_device(*fed.node, "/job:worker/task:0");
    Node& push = *graph.add("Assign", {pushed.ref, fed}).node;
    graph.set_device(push, "/job:ps/task:0");
    Session session(graph, session_options());
    session.run({}, {}, {pulled.initializer, pushed.initializer});
    const std::array feeds = {fed}, fetches = {pulled.read};
    const std::array targets = {&push};
    auto prepared = session.prepare(feeds, fetches, targets);
    Tensor weights(DType::kFloat, Shape{kBulkFloats});
    std::memset(weights.raw(), 0, weights.bytes());
    const std::array values = {weights};
    report.run({"C++ 2.6 MB each way, TCP", [&] { (void)session.run(*prepared, values); },
                raw_exchange(raw_bulk, kBulkFloats * 4), "raw TCP", 0.7});
  }
};

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  capstan::Report report(argc, argv);
  capstan::Bench bench;
  bench.null_steps(report);
  bench.bulk_steps(report);
}
