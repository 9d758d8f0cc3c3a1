// One suite for every transport: what a lane and a server promise does not depend on the wire.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "net/test_server.h"

namespace capstan {
namespace {

class Wire : public testing::TestWithParam<TransportKind> {
 protected:
  LaneOptions lane_options() const { return {.kind = GetParam()}; }
  std::unique_ptr<Lane> connect(const TestServer& server) const {
    return server.connect(lane_options());
  }
};

INSTANTIATE_TEST_SUITE_P(Transports, Wire,
                         testing::Values(TransportKind::kTcp, TransportKind::kUnix,
                                         TransportKind::kShm),
                         [](const auto& info) {
                           return std::string(transport_kind_name(info.param));
                         });

Tensor counting(int64_t n, float first = 0) {
  Tensor t(DType::kFloat, Shape{n});
  std::iota(t.data<float>(), t.data<float>() + n, first);
  return t;
}

Message round_trip(Lane& lane, const Message& message) {
  lane.send(message, soon());
  return lane.receive(soon());
}

int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "Threads:") break;
  }
  int count = 0;
  status >> count;
  return count;
}

TEST_P(Wire, BringsEveryFieldAndTensorBackUnchanged) {
  TestServer server(echo);
  auto lane = connect(server);
  EXPECT_EQ(lane->kind(), GetParam());
  Message m{.type = kTestMessage, .call = 1, .session = 1ull << 63, .incarnation = 42};
  m.meta = std::string("a\0b", 3);
  m.tensors = {counting(3),
               Tensor::scalar<int64_t>(-5),
               Tensor(),
               counting(0),
               Tensor::of<std::string>(Shape{2, 2}, {"", "x", std::string(70000, 'y'), "z"}),
               Tensor::of<bool>(Shape{1, 3}, {true, false, true}),
               counting(1 << 20)};
  Message back = round_trip(*lane, m);
  EXPECT_EQ(back.type, m.type);
  EXPECT_EQ(back.call, m.call);
  EXPECT_EQ(back.session, m.session);
  EXPECT_EQ(back.incarnation, m.incarnation);
  EXPECT_EQ(back.meta, m.meta);
  ASSERT_EQ(back.tensors.size(), m.tensors.size());
  for (size_t i = 0; i < m.tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].valid(), m.tensors[i].valid());
    EXPECT_TRUE(back.tensors[i].equals(m.tensors[i])) << i;
  }
}

TEST_P(Wire, CarriesAThousandTensorsAndALargeMeta) {
  TestServer server(echo);
  auto lane = connect(server);
  Message m{.type = kTestMessage};
  m.meta = std::string(3 << 20, 'm');
  for (int i = 0; i < 1000; ++i) m.tensors.push_back(counting(i * 7 % 5000, float(i)));
  for (int round = 0; round < 3; ++round) {
    Message back = round_trip(*lane, m);
    EXPECT_EQ(back.meta, m.meta);
    ASSERT_EQ(back.tensors.size(), 1000u);
    for (size_t i = 0; i < 1000; ++i) ASSERT_TRUE(back.tensors[i].equals(m.tensors[i])) << i;
  }
}

TEST_P(Wire, KeepsTheOrderOfManySmallMessages) {
  TestServer server(echo);
  auto lane = connect(server);
  for (uint64_t i = 0; i < 2000; ++i) lane->send({.type = kTestMessage, .call = i}, soon());
  for (uint64_t i = 0; i < 2000; ++i) ASSERT_EQ(lane->receive(soon()).call, i);
}

TEST_P(Wire, CarriesAnErrorWhole) {
  TestServer server([](const std::shared_ptr<Peer>&, Message&&) {
    throw Error(Code::kOutOfRange, "no more", "dequeue", "/job:ps/task:0");
  });
  auto lane = connect(server);
  Message back = round_trip(*lane, {.type = kTestMessage, .call = 9, .session = 3});
  EXPECT_EQ(back.call, 9u);
  EXPECT_EQ(back.session, 3u);
  try {
    throw_if_error(back);
    FAIL() << "no error came back";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kOutOfRange);
    EXPECT_EQ(error.message(), "no more");
    EXPECT_EQ(error.op(), "dequeue");
    EXPECT_EQ(error.task(), "/job:ps/task:0");
  }
}

TEST_P(Wire, AnswersAThousandWaitingCallsWithoutAThreadForEach) {
  std::mutex mutex;
  std::vector<std::pair<std::shared_ptr<Peer>, uint64_t>> waiting;
  TestServer server([&](const std::shared_ptr<Peer>& peer, Message&& m) {
    std::lock_guard lock(mutex);
    waiting.emplace_back(peer, m.call);
  });
  auto lane = connect(server);
  int before = threads_of_this_process();
  for (uint64_t i = 0; i < 1000; ++i) lane->send({.type = kTestMessage, .call = i}, soon());
  ASSERT_TRUE(eventually([&] {
    std::lock_guard lock(mutex);
    return waiting.size() == 1000;
  }));
  EXPECT_EQ(threads_of_this_process(), before);
  // Answered in the opposite order, from a thread that is not the loop's.
  for (auto it = waiting.rbegin(); it != waiting.rend(); ++it) {
    it->first->send({.type = kTestMessage, .call = it->second});
  }
  for (uint64_t i = 1000; i-- > 0;) ASSERT_EQ(lane->receive(soon()).call, i);
}

TEST_P(Wire, WaitsForSeveralLanesAtOnce) {
  TestServer quiet([](const std::shared_ptr<Peer>&, Message&&) {});
  TestServer lively(echo);
  auto a = connect(quiet), b = connect(lively);
  Lane* lanes[] = {a.get(), b.get()};
  for (int i = 0; i < 100; ++i) {
    for (Lane* lane : lanes) lane->send({.type = kTestMessage}, soon());
    ASSERT_EQ(wait_any(lanes, soon()), 1u);
    Message m;
    ASSERT_TRUE(b->try_receive(m));
    ASSERT_FALSE(a->try_receive(m));
  }
}

TEST_P(Wire, CancelWakesABlockedCallerAndResumeLetsItGoOn) {
  std::promise<std::shared_ptr<Peer>> arrived;
  TestServer server([&](const std::shared_ptr<Peer>& peer, Message&&) { arrived.set_value(peer); });
  auto lane = connect(server);
  lane->send({.type = kTestMessage}, soon());
  auto peer = arrived.get_future().get();
  std::thread other([&] { lane->cancel(); });
  try {
    lane->receive(soon());
    FAIL() << "the call was not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCancelled);
  }
  other.join();
  lane->resume();
  peer->send({.type = kTestMessage, .call = 77});
  EXPECT_EQ(lane->receive(soon()).call, 77u);
}

TEST_P(Wire, EndsAWaitAtItsDeadline) {
  TestServer server([](const std::shared_ptr<Peer>&, Message&&) {});
  auto lane = connect(server);
  try {
    lane->receive({.deadline = deadline_in(std::chrono::milliseconds(5))});
    FAIL() << "nothing was sent, yet something came";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
    EXPECT_THAT(error.message(), testing::HasSubstr("server/0"));
  }
}

TEST_P(Wire, CallsOnInterruptWhileBlockedAndPassesOnWhatItThrows) {
  TestServer server([](const std::shared_ptr<Peer>&, Message&&) {});
  auto lane = connect(server);
  WaitOptions wait = soon();
  wait.on_interrupt = [] { throw aborted("Ctrl-C"); };
  try {
    lane->receive(wait);
    FAIL() << "nothing was sent, yet something came";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kAborted);
  }
}

TEST_P(Wire, TellsBothSidesWhenTheOtherIsGone) {
  TestServer server(echo);
  auto lane = connect(server);
  auto second = connect(server);
  EXPECT_TRUE(eventually([&] { return server.opened() == 2; }));
  second.reset();
  EXPECT_TRUE(eventually([&] { return server.closed() == 1; }));
  server.stop();
  try {
    lane->receive(soon());
    FAIL() << "the server is gone";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(), testing::HasSubstr("server/0"));
  }
}

// A process that runs `body`, to be killed.
class Child {
 public:
  explicit Child(const std::function<void(int pipe)>& body) {
    CAPSTAN_CHECK(::pipe(ends_) == 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::alarm(60);
    body(ends_[1]);
    ::_exit(0);
  }
  ~Child() {
    kill();
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  uint16_t read_port() const {
    uint16_t port = 0;
    CAPSTAN_CHECK(::read(ends_[0], &port, sizeof port) == sizeof port);
    return port;
  }

 private:
  int ends_[2];
  pid_t pid_ = -1;
};

TEST_P(Wire, WakesACallerWhoseServerIsKilled) {
  Child child([](int pipe) {
    struct Silent : Handler {
      void on_message(const std::shared_ptr<Peer>& peer, Message&& m) override {
        if (m.call == 1) peer->send(std::move(m));
      }
    } handler;
    ServerLoop server({.self = test_identity("server/0")}, handler);
    uint16_t port = server.port();
    CAPSTAN_CHECK(::write(pipe, &port, sizeof port) == sizeof port);
    server.run();
  });
  LaneOptions options = lane_options();
  options.self = test_identity("client/0");
  auto lane =
      capstan::connect({.address = fmt::format("127.0.0.1:{}", child.read_port())}, options);
  Message m{.type = kTestMessage, .call = 1, .tensors = {counting(100'000)}};
  Message back = round_trip(*lane, m);
  lane->send({.type = kTestMessage, .call = 2}, soon());
  child.kill();
  try {
    lane->receive(soon());
    FAIL() << "the server is dead";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
  }
  // What it had sent is still there.
  EXPECT_TRUE(back.tensors[0].equals(m.tensors[0]));
}

TEST_P(Wire, DeliversWhatWasSentBeforeTheServerLeft) {
  TestServer server([](const std::shared_ptr<Peer>& peer, Message&& m) {
    peer->send(std::move(m));
    peer->close();
  });
  auto lane = connect(server);
  EXPECT_EQ(round_trip(*lane, {.type = kTestMessage, .call = 4}).call, 4u);
  EXPECT_THROW(lane->receive(soon()), Error);
}

TEST_P(Wire, StopsReadingFromAPeerThatDoesNotReadItsReplies) {
  constexpr size_t kLimit = 1 << 20, kReply = 256 << 10;
  std::shared_ptr<Peer> peer;
  std::atomic<int> handled{0};
  ServerOptions options;
  options.queue_bytes = kLimit;
  // Replies that go by the ring, so that every transport has to queue them.
  options.channel.arena = SharedArena::make({.frozen_limit = 0});
  TestServer server(
      [&](const std::shared_ptr<Peer>& from, Message&& m) {
        peer = from;
        m.tensors = {Tensor(DType::kUInt8, Shape{int64_t(kReply)})};
        from->send(std::move(m));
        handled.store(handled.load() + 1);
      },
      options);
  auto lane = connect(server);
  constexpr int kCalls = 200;
  for (int i = 0; i < kCalls; ++i) lane->send({.type = kTestMessage, .call = uint64_t(i)}, soon());
  ASSERT_TRUE(eventually([&] { return handled.load() > 0; }));
  size_t queued = server.on_loop([&] { return peer->queued_bytes(); });
  EXPECT_LE(queued, kLimit + kReply + 1024);
  EXPECT_LT(handled.load(), kCalls);
  for (int i = 0; i < kCalls; ++i) {
    Message m = lane->receive(soon());
    ASSERT_EQ(m.call, uint64_t(i));
    ASSERT_EQ(m.tensors[0].bytes(), kReply);
  }
}

TEST_P(Wire, DoesNotLockUpWhenBothSidesSendMoreThanFits) {
  TestServer server(echo);
  LaneOptions options = lane_options();
  options.channel.arena = SharedArena::make({.frozen_limit = 0});
  auto lane = server.connect(options);
  Tensor big = counting(2 << 20);
  for (uint64_t i = 0; i < 12; ++i) {
    lane->send({.type = kTestMessage, .call = i, .tensors = {big}}, soon());
  }
  for (uint64_t i = 0; i < 12; ++i) {
    Message m = lane->receive(soon());
    ASSERT_EQ(m.call, i);
    ASSERT_TRUE(m.tensors[0].equals(big));
  }
}

TEST_P(Wire, ServesManyLanesFromManyThreads) {
  TestServer server(echo);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      auto lane = connect(server);
      for (uint64_t i = 0; i < 100; ++i) {
        Message m{.type = kTestMessage, .call = i, .tensors = {counting(5000 + t, float(i))}};
        Message back = round_trip(*lane, m);
        if (back.call != i || !back.tensors[0].equals(m.tensors[0])) wrong.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Wire, RefusesAWrongSecretWithTheRemedy) {
  TestServer server(echo);
  LaneOptions options = lane_options();
  options.self = test_identity("client/0");
  options.self.secret = "another";
  try {
    server.connect(options);
    FAIL() << "a stranger was let in";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnauthenticated);
    EXPECT_THAT(error.message(), testing::HasSubstr(server.address()));
    EXPECT_THAT(error.message(), testing::HasSubstr("CAPSTAN_SECRET_FILE"));
  }
  EXPECT_TRUE(eventually([&] { return server.refused() == 1; }));
  EXPECT_EQ(server.opened(), 0);
}

TEST_P(Wire, AcceptsTheSecretOfClientsBesideTheOwnOne) {
  ServerOptions server_options;
  server_options.self = test_identity("server/0");
  server_options.self.client_secret = "for clients";
  TestServer server(echo, std::move(server_options));
  for (const char* secret : {"for clients", kTestSecret.c_str()}) {
    LaneOptions options = lane_options();
    options.self = test_identity("client/0");
    options.self.secret = secret;
    auto lane = server.connect(options);
    EXPECT_EQ(round_trip(*lane, {.type = kTestMessage, .call = 4}).call, 4u);
  }
  LaneOptions options = lane_options();
  options.self = test_identity("client/0");
  options.self.secret = "another";
  EXPECT_THROW(server.connect(options), Error);
}

TEST_P(Wire, RefusesAnotherMajorByName) {
  TestServer server(echo);
  LaneOptions options = lane_options();
  options.self = test_identity("client/0");
  options.self.major = kProtocolMajor + 1;
  try {
    server.connect(options);
    FAIL() << "another protocol was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_THAT(error.message(), testing::HasSubstr("2.0"));
    EXPECT_THAT(error.message(), testing::HasSubstr("1.0"));
  }
}

TEST_P(Wire, AnswersWithAnErrorWhenAReplyCannotTravel) {
  ServerOptions options;
  options.channel.limits.max_frame_bytes = 1 << 20;
  options.channel.arena = SharedArena::make({.frozen_limit = 0});
  TestServer server(
      [](const std::shared_ptr<Peer>& peer, Message&& m) {
        m.tensors = {counting(1 << 20)};
        peer->send(std::move(m));
      },
      options);
  auto lane = connect(server);
  Message back = round_trip(*lane, {.type = kTestMessage, .call = 6});
  EXPECT_EQ(back.call, 6u);
  EXPECT_EQ(error_of(back).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace capstan
