// How close net comes to the wire. Each line compares with raw sockets that wait in the same way
// (poll and yield for 50 µs, then block), in the same run, interleaved; the best round counts.
//
//   net_bench [--json] [--seconds-per-line 1]

#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "net/epoll_loop.h"
#include "net/lane.h"
#include "net/server.h"
#include "net/socket.h"

namespace capstan {
namespace {

using std::chrono::steady_clock;

constexpr uint8_t kCall = kFirstFreeMessageType;
constexpr int64_t kBulkFloats = 650'000;  // 2.6 MB, the weights of 784-500-500-10
constexpr int kRounds = 5;

// A process that runs `body` until it is told to end; starts once `body` has reported its port.
class Child {
 public:
  explicit Child(const std::function<void(const std::function<void(uint16_t)>&)>& body) {
    int ends[2];
    CAPSTAN_CHECK(::pipe(ends) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      body([&](uint16_t port) { (void)!::write(ends[1], &port, sizeof port); });
      ::_exit(0);
    }
    CAPSTAN_CHECK(::read(ends[0], &port_, sizeof port_) == sizeof port_);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  uint16_t port() const { return port_; }

 private:
  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

// The wait that net uses, on a bare descriptor.
void wait_raw(int fd, short events, Deadline& spin_until) {
  if (steady_clock::now() < spin_until) {
    ::sched_yield();
    return;
  }
  pollfd one = {fd, events, 0};
  ::poll(&one, 1, -1);
  spin_until = steady_clock::now() + kSpinTime;
}

bool transfer(int fd, char* data, size_t bytes, bool out) {
  Deadline spin_until = steady_clock::now() + kSpinTime;
  while (bytes > 0) {
    ssize_t n = out ? ::send(fd, data, bytes, MSG_NOSIGNAL) : ::recv(fd, data, bytes, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return false;
    if (n > 0) {
      data += n;
      bytes -= size_t(n);
      spin_until = steady_clock::now() + kSpinTime;
    } else {
      wait_raw(fd, out ? POLLOUT : POLLIN, spin_until);
    }
  }
  return true;
}

void raw_server(size_t bytes, const std::function<void(uint16_t)>& ready) {
  Fd listener = listen_tcp(resolve({"127.0.0.1", 0}).front());
  ready(local_address(listener.get()).port());
  pollfd one = {listener.get(), POLLIN, 0};
  ::poll(&one, 1, -1);
  Fd fd = accept_connection(listener.get());
  tune_tcp(fd.get());
  std::vector<char> in(bytes), out(bytes);
  while (transfer(fd.get(), in.data(), bytes, false)) {
    if (!transfer(fd.get(), out.data(), bytes, true)) return;
  }
}

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

// Calls per second over about `seconds`.
double rate(double seconds, const std::function<void()>& call) {
  auto start = steady_clock::now();
  auto end = start + std::chrono::duration_cast<steady_clock::duration>(
                         std::chrono::duration<double>(seconds));
  int64_t calls = 0;
  while (steady_clock::now() < end) {
    for (int i = 0; i < 8; ++i) call();
    calls += 8;
  }
  return double(calls) / std::chrono::duration<double>(steady_clock::now() - start).count();
}

struct Line {
  std::string name;
  std::function<void()> ours, peer;
};

class Report {
 public:
  Report(bool json, double seconds) : json_(json), seconds_(seconds) {}

  void run(const Line& line) {
    double ours = 0, peer = 0;
    for (int round = 0; round < kRounds; ++round) {
      ours = std::max(ours, rate(seconds_ / kRounds / 2, line.ours));
      peer = std::max(peer, rate(seconds_ / kRounds / 2, line.peer));
    }
    if (json_) {
      fmt::print("{{\"name\": \"{}\", \"ours\": {:.1f}, \"peer\": {:.1f}, \"ratio\": {:.3f}}}\n",
                 line.name, ours, peer, ours / peer);
    } else {
      fmt::print(
          "{:<34} ours {:>10.0f}/s {:>8.2f} us   raw TCP {:>10.0f}/s {:>8.2f} us   x {:.2f}\n",
          line.name, ours, 1e6 / ours, peer, 1e6 / peer, ours / peer);
    }
    std::fflush(stdout);
  }

 private:
  const bool json_;
  const double seconds_;
};

std::function<void()> raw_exchange(const Child& server, size_t bytes) {
  bool pending = false;
  auto fd = std::make_shared<Fd>(start_tcp(resolve({"127.0.0.1", server.port()}).front(), pending));
  pollfd one = {fd->get(), POLLOUT, 0};
  ::poll(&one, 1, -1);
  auto out = std::make_shared<std::vector<char>>(bytes),
       in = std::make_shared<std::vector<char>>(bytes);
  return [=] {
    CAPSTAN_CHECK(transfer(fd->get(), out->data(), bytes, true));
    CAPSTAN_CHECK(transfer(fd->get(), in->data(), bytes, false));
  };
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

void bench(Report& report) {
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

int main(int argc, char** argv) {
  bool json = false;
  double seconds = 1;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (arg == "--json") json = true;
    if (arg == "--seconds-per-line" && i + 1 < argc) seconds = std::atof(argv[++i]);
  }
  capstan::Report report(json, seconds);
  capstan::bench(report);
}
