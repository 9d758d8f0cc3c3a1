// What a server and connect() do with peers and addresses that are not as they should be.

#include "net/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <ctime>
#include <vector>

#include "net/epoll_loop.h"
#include "net/refusals.h"
#include "net/socket.h"
#include "net/test_server.h"

namespace capstan {
namespace {

using testing::HasSubstr;

Fd raw_connection(const std::string& address) {
  bool pending = false;
  Fd fd = start_tcp(resolve(parse_host_port(address)).front(), pending);
  pollfd one = {fd.get(), POLLOUT, 0};
  ::poll(&one, 1, 10'000);
  return fd;
}

void send_all(int fd, const std::string& bytes) {
  ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t(bytes.size()));
}

// A connection that knows the secret, after its handshake.
Fd known_connection(const std::string& address) {
  Fd fd = raw_connection(address);
  SystemRandom random;
  Handshake hands(Handshake::Role::kClient, test_identity("raw"), 0, "", address, random);
  while (true) {
    send_all(fd.get(), hands.take_output());
    if (hands.done()) return fd;
    pollfd one = {fd.get(), POLLIN, 0};
    ::poll(&one, 1, 10'000);
    char bytes[512];
    ssize_t n = ::recv(fd.get(), bytes, std::min(sizeof bytes, hands.wanted()), 0);
    CAPSTAN_CHECK(n > 0);
    hands.feed({bytes, size_t(n)});
  }
}

bool closed_by_peer(int fd) {
  for (;;) {
    pollfd one = {fd, POLLIN, 0};
    if (::poll(&one, 1, 10'000) <= 0) return false;
    char bytes[512];
    if (::recv(fd, bytes, sizeof bytes, 0) <= 0) return true;
  }
}

std::string frame_bytes(const Message& message) {
  OutFrame frame;
  frame.encode(message, {}, nullptr);
  int ends[2];
  CAPSTAN_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  SocketStream stream(Fd(ends[0]), "test");
  Fd other(ends[1]);
  CAPSTAN_CHECK(frame.write(stream));
  std::string out(100'000, '\0');
  out.resize(size_t(::recv(other.get(), out.data(), out.size(), 0)));
  return out;
}

void expect_still_serving(TestServer& server) {
  auto lane = server.connect();
  lane->send({.type = kTestMessage, .call = 1}, soon());
  EXPECT_EQ(lane->receive(soon()).call, 1u);
}

TEST(Server, DropsStrangersWhoSendGarbageAndGoesOn) {
  TestServer server(echo);
  for (std::string garbage : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(4096, '\xff'),
                              std::string(4096, '\0'), std::string("\x05\0\0\0\x01hello", 9)}) {
    Fd fd = raw_connection(server.address());
    send_all(fd.get(), garbage);
    EXPECT_TRUE(closed_by_peer(fd.get()));
  }
  EXPECT_EQ(server.opened(), 0);
  expect_still_serving(server);
}

TEST(Server, DropsAPeerThatSendsAFrameOf2To62BytesNamingIt) {
  std::promise<Error> why;
  struct Closing : Handler {
    explicit Closing(std::promise<Error>& w) : why(w) {}
    void on_message(const std::shared_ptr<Peer>&, Message&&) override {}
    void on_close(const std::shared_ptr<Peer>&, const Error& e) override { why.set_value(e); }
    std::promise<Error>& why;
  } handler(why);
  ServerLoop server({.self = test_identity("server/0")}, handler);
  std::thread thread([&] { server.run(); });
  Fd fd = known_connection(server.address());
  std::string bytes = frame_bytes({.type = kTestMessage});
  bytes[24 + 7] = 0x40;
  send_all(fd.get(), bytes);
  Error error = why.get_future().get();
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_THAT(error.message(), HasSubstr("raw at 127.0.0.1"));
  EXPECT_TRUE(closed_by_peer(fd.get()));
  server.stop();
  thread.join();
}

TEST(Server, DropsAPeerThatDiesInTheMiddleOfAFrame) {
  TestServer server(echo);
  std::string bytes =
      frame_bytes({.type = kTestMessage, .tensors = {Tensor(DType::kFloat, Shape{9000})}});
  for (size_t cut : {size_t(10), size_t(64), size_t(80), bytes.size() - 1}) {
    int before = server.closed();
    Fd fd = known_connection(server.address());
    send_all(fd.get(), bytes.substr(0, cut));
    fd.reset();
    EXPECT_TRUE(eventually([&] { return server.closed() == before + 1; }));
  }
  expect_still_serving(server);
}

TEST(Server, ClosesConnectionsThatDoNotFinishTheirHandshake) {
  TestServer server(echo, {.handshake_time = std::chrono::milliseconds(20)});
  Fd fd = raw_connection(server.address());
  EXPECT_TRUE(closed_by_peer(fd.get()));
  EXPECT_TRUE(eventually([&] { return server.refused() == 1; }));
}

TEST(Server, HoldsItsLimitOfConnections) {
  TestServer server(echo, {.max_connections = 2});
  auto a = server.connect(), b = server.connect();
  Fd third = raw_connection(server.address());
  EXPECT_TRUE(closed_by_peer(third.get()));
}

TEST(Server, TheOldestThatHasNotProvedItselfGivesWayToANewcomer) {
  TestServer server(echo, {.handshake_time = std::chrono::hours(1), .max_connections = 3});
  auto known = server.connect();
  Fd oldest = raw_connection(server.address()), idle = raw_connection(server.address());
  ASSERT_TRUE(eventually([&] { return server.connections() == 3; }));
  expect_still_serving(server);
  EXPECT_TRUE(closed_by_peer(oldest.get()));
  known->send({.type = kTestMessage, .call = 1}, soon());
  EXPECT_EQ(known->receive(soon()).call, 1u);
}

TEST(Server, TellsOfManyRefusalsInOneLine) {
  std::vector<std::string> told;
  TestServer server(echo, {.on_refused = [&](const Error& e) { told.push_back(e.message()); },
                           .refusal_period = std::chrono::hours(1)});
  for (int i = 0; i < 50; ++i) {
    Fd fd = raw_connection(server.address());
    send_all(fd.get(), "GET / HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(closed_by_peer(fd.get()));
  }
  server.stop();
  EXPECT_EQ(told.size(), 1u);
}

TEST(Refusals, TheNextLineSaysHowManyThereWere) {
  EpollLoop loop;
  std::vector<std::string> told;
  auto tell = [&](const Error& e) {
    told.push_back(e.message());
    if (told.size() == 2) loop.stop();
  };
  Refusals refusals(loop, tell, std::chrono::milliseconds(20));
  loop.post([&] {
    for (int i = 0; i < 8; ++i) refusals.add(unavailable("stranger {} left", i));
  });
  loop.run();
  EXPECT_THAT(told,
              testing::ElementsAre("stranger 0 left", "stranger 7 left (one of 7 within 0.02 s)"));
}

TEST(Server, NamesAPortThatIsInUse) {
  TestServer server(echo);
  struct Nothing : Handler {
    void on_message(const std::shared_ptr<Peer>&, Message&&) override {}
  } handler;
  try {
    ServerLoop second({.address = server.address()}, handler);
    FAIL() << "two servers on one port";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kAlreadyExists);
    EXPECT_THAT(error.message(), HasSubstr(server.address()));
  }
}

TEST(Server, TakesOverAListeningSocketAndIsMetOverSharedMemoryEvenByEarlyClients) {
  Fd held = listen_tcp(resolve({"127.0.0.1", 0}).front());
  std::string address = local_address(held.get()).text();
  // This client comes before the server, when only the socket is there.
  std::promise<TransportKind> kind;
  std::thread client([&] {
    auto lane = connect({.address = address, .deadline = deadline_in(std::chrono::seconds(20))},
                        {.self = test_identity("client/0")});
    kind.set_value(lane->kind());
  });
  pollfd one = {held.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&one, 1, 10'000), 1);  // it is in the queue
  TestServer server(echo, {.listen_fd = held.release()});
  EXPECT_EQ(server.address(), address);
  EXPECT_EQ(kind.get_future().get(), TransportKind::kShm);
  client.join();
}

TEST(Server, OnTwoLoopbackAddressesOfOnePortAreTwoServers) {
  TestServer one([](const std::shared_ptr<Peer>& p, Message&&) {
    p->send({.type = kTestMessage, .call = 1});
  });
  std::string port = one.address().substr(one.address().rfind(':'));
  TestServer two(
      [](const std::shared_ptr<Peer>& p, Message&&) { p->send({.type = kTestMessage, .call = 2}); },
      {.address = "127.0.0.2" + port});
  for (auto [server, call] : {std::pair{&one, 1u}, {&two, 2u}}) {
    auto lane = server->connect();
    EXPECT_EQ(lane->kind(), TransportKind::kShm);
    lane->send({.type = kTestMessage}, soon());
    EXPECT_EQ(lane->receive(soon()).call, call);
  }
}

TEST(Server, OnAllAddressesIsMetOverSharedMemory) {
  TestServer server(echo, {.address = "0.0.0.0:0"});
  std::string port = server.address().substr(server.address().rfind(':'));
  auto lane = connect({.address = "127.0.0.1" + port}, {.self = test_identity("client/0")});
  EXPECT_EQ(lane->kind(), TransportKind::kShm);
}

TEST(Server, WithoutAUnixNameIsMetOverTcp) {
  TestServer server(echo, {.local = false});
  EXPECT_EQ(server.connect()->kind(), TransportKind::kTcp);
}

TEST(Server, UsesNoCpuWhenIdle) {
  TestServer server(echo);
  auto lane = server.connect();
  clockid_t clock = {};
  server.on_loop([&] { return ::pthread_getcpuclockid(::pthread_self(), &clock); });
  auto used = [&] {
    timespec t = {};
    ::clock_gettime(clock, &t);
    return t.tv_sec * 1'000'000'000 + t.tv_nsec;
  };
  lane->send({.type = kTestMessage}, soon());
  lane->receive(soon());
  int64_t before = used();
  // The wait for nothing is the time in which the loop must not run.
  EXPECT_THROW(lane->receive({.deadline = deadline_in(std::chrono::milliseconds(200))}), Error);
  EXPECT_LT(used() - before, 5'000'000);
}

TEST(Server, WhoseNameHasNoAddressYetListensAtItsInterface) {
  TestServer server(echo, {.address = "no-such-host.invalid:0"});
  EXPECT_FALSE(server.address().starts_with("0.0.0.0"));
  auto lane = server.connect();
  lane->send({.type = kTestMessage, .call = 3}, soon());
  EXPECT_EQ(lane->receive(soon()).call, 3u);
}

TEST(Connect, SaysWhatItWaitedForAndTheLastErrorAtTheDeadline) {
  Fd held = listen_tcp(resolve({"127.0.0.1", 0}).front());
  std::string address = local_address(held.get()).text();
  held.reset();
  try {
    connect({.address = address, .deadline = deadline_in(std::chrono::milliseconds(30))}, {});
    FAIL() << "nobody listens there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
    EXPECT_THAT(error.message(), HasSubstr(address));
    EXPECT_THAT(error.message(), HasSubstr("refused"));
  }
}

TEST(Connect, PassesOnWhatOnInterruptThrows) {
  Fd held = listen_tcp(resolve({"127.0.0.1", 0}).front());
  std::string address = local_address(held.get()).text();
  // Somebody listens and never answers.
  EXPECT_THROW(connect({.address = address, .on_interrupt = [] { throw cancelled("Ctrl-C"); }}, {}),
               Error);
}

TEST(Connect, RefusesAServerThatDoesNotKnowTheSecret) {
  ServerOptions options;
  options.self = test_identity("server/0");
  options.self.secret = "not ours";
  TestServer server(echo, options);
  try {
    server.connect();
    FAIL() << "an impostor was believed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnauthenticated);
  }
}

TEST(Connect, RefusesToForceSharedMemoryAcrossHosts) {
  try {
    connect({.address = "192.0.2.1:1"}, {.kind = TransportKind::kShm});
    FAIL() << "that host is far away";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_THAT(error.message(), HasSubstr("CAPSTAN_TRANSPORT"));
  }
}

TEST(Connect, SurvivesAServerThatIsKilledInTheMiddleOfAReply) {
  Fd listener = listen_tcp(resolve({"127.0.0.1", 0}).front());
  std::string address = local_address(listener.get()).text();
  std::thread impostor([&] {
    pollfd one = {listener.get(), POLLIN, 0};
    ::poll(&one, 1, 10'000);
    Fd fd = accept_connection(listener.get());
    SystemRandom random;
    Handshake hands(Handshake::Role::kServer, test_identity("server/0"), 0, "", "client", random);
    while (!hands.done()) {
      one = {fd.get(), POLLIN, 0};
      ::poll(&one, 1, 10'000);
      char bytes[512];
      ssize_t n = ::recv(fd.get(), bytes, std::min(sizeof bytes, hands.wanted()), 0);
      if (n > 0) hands.feed({bytes, size_t(n)});
      std::string out = hands.take_output();
      if (!out.empty()) send_all(fd.get(), out);
    }
    std::string reply =
        frame_bytes({.type = kTestMessage, .tensors = {Tensor(DType::kFloat, Shape{999})}});
    send_all(fd.get(), reply.substr(0, reply.size() / 2));
  });
  auto lane =
      connect({.address = address}, {.kind = TransportKind::kTcp, .self = test_identity("c")});
  try {
    lane->receive(soon());
    FAIL() << "half a frame was taken for a whole one";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
  }
  impostor.join();
}

TEST(Address, IsReadInAllItsForms) {
  EXPECT_EQ(parse_host_port("ps0.example:2222").host, "ps0.example");
  EXPECT_EQ(parse_host_port("[::1]:80").host, "::1");
  EXPECT_EQ(parse_host_port(":0").host, "127.0.0.1");
  for (const char* bad : {"host", "host:", "host:99999", "host:-1", "host:1x", ""}) {
    EXPECT_THROW(parse_host_port(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace capstan
