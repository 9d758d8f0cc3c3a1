// How close net comes to the wire. Each line compares with raw sockets that wait in the same way
// (poll and yield for 50 µs, then block), in the same run, interleaved; the best round counts.
//
//   net_bench [--json] [--seconds 1]

#include <cstring>
#include <functional>
#include <vector>

#include "compare.h"
#include "net/server.h"
#include "raw_exchange.h"

namespace capstan {
namespace {

constexpr uint8_t kCall = kFirstFreeMessageType;
constexpr int64_t kBulkFloats = 650'000;  // 2.6 MB, the weights of 784-500-500-10

// Answers with as many bytes as came, from memory of its own.
class Answering final : public Handler {
 public:
  explicit Answering(std::shared_ptr<SharedArena> arena) : arena_(std::move(arena)) {}
  void on_message(const std::shared_ptr<Peer>& peer, Message&& m) override {
    Message reply{.type = m.type, .call = m.call};
    for (const Tensor& tensor : m.tensors) reply.tensors.push_back(answer(tensor));
    m.tensors.clear();
    peer->send(std::move(reply));
  }

 private:
  Tensor answer(const Tensor& like) {
    if (!answer_.valid() || !(answer_.shape() == like.shape())) {
      answer_ = arena_->allocate(like.dtype(), like.shape());
      std::memset(answer_.raw(), 0, answer_.bytes());
    }
    return answer_;
  }
  std::shared_ptr<SharedArena> arena_;
  Tensor answer_;
};

void our_server(const std::function<void(uint16_t)>& ready) {
  ServerOptions options;
  options.channel.arena = SharedArena::make();
  Answering handler(options.channel.arena);
  ServerLoop server(options, handler);
  ready(server.port());
  server.run();
}

std::unique_ptr<Lane> lane_to(const Child& server, TransportKind kind) {
  return connect({.address = fmt::format("127.0.0.1:{}", server.port()),
                  .deadline = deadline_in(std::chrono::seconds(10))},
                 {.kind = kind});
}

std::function<void()> our_exchange(const Child& server, TransportKind kind, Message message) {
  std::shared_ptr<Lane> lane = lane_to(server, kind);
  return [lane, message] {
    lane->send(message);
    (void)lane->receive();
  };
}

// One step of a worker with several servers: two rounds, each to all of them.
std::function<void()> our_fan_out(const std::vector<std::unique_ptr<Child>>& servers,
                                  TransportKind kind) {
  auto lanes = std::make_shared<std::vector<std::unique_ptr<Lane>>>();
  for (const auto& server : servers) lanes->push_back(lane_to(*server, kind));
  return [lanes] {
    for (int round = 0; round < 2; ++round) {
      std::vector<Lane*> waiting;
      for (auto& lane : *lanes) {
        lane->send({.type = kCall});
        waiting.push_back(lane.get());
      }
      while (!waiting.empty()) {
        size_t i = wait_any(waiting);
        (void)waiting[i]->receive();
        waiting.erase(waiting.begin() + long(i));
      }
    }
  };
}

void bench(const Report& report) {
  Child raw_small([](const auto& ready) { raw_server(64, ready); });
  Child raw_bulk([](const auto& ready) { raw_server(kBulkFloats * 4, ready); });
  Child server([](const auto& ready) { our_server(ready); });
  auto ping = raw_exchange(raw_small, 64);
  auto bulk = raw_exchange(raw_bulk, kBulkFloats * 4);
  Message null{.type = kCall};
  Message weights{.type = kCall, .tensors = {Tensor(DType::kFloat, Shape{kBulkFloats})}};
  std::memset(weights.tensors[0].raw(), 0, weights.tensors[0].bytes());
  auto arena = SharedArena::make();
  Message placed{.type = kCall, .tensors = {arena->allocate(DType::kFloat, Shape{kBulkFloats})}};
  std::memset(placed.tensors[0].raw(), 0, placed.tensors[0].bytes());

  for (auto kind : {TransportKind::kTcp, TransportKind::kUnix, TransportKind::kShm}) {
    report.run({fmt::format("null round trip, {}", transport_kind_name(kind)),
                our_exchange(server, kind, null), ping});
  }
  for (auto kind : {TransportKind::kTcp, TransportKind::kUnix, TransportKind::kShm}) {
    report.run({fmt::format("2.6 MB each way, {}", transport_kind_name(kind)),
                our_exchange(server, kind, weights), bulk});
  }
  std::shared_ptr<Lane> lane = connect({.address = fmt::format("127.0.0.1:{}", server.port())},
                                       {.kind = TransportKind::kShm, .channel = {.arena = arena}});
  report.run({"2.6 MB each way, shm, in place",
              [&] {
                lane->send(placed);
                (void)lane->receive();
              },
              bulk});

  std::vector<std::unique_ptr<Child>> servers;
  for (int i = 0; i < 4; ++i) {
    servers.push_back(std::make_unique<Child>([](const auto& ready) { our_server(ready); }));
  }
  for (auto kind : {TransportKind::kTcp, TransportKind::kUnix, TransportKind::kShm}) {
    report.run({fmt::format("4 servers, 2 rounds, {}", transport_kind_name(kind)),
                our_fan_out(servers, kind), ping});
  }
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { capstan::bench(capstan::Report(argc, argv)); }
