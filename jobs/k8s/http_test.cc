#include "jobs/k8s/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/k8s/test_server.h"

namespace capstan::jobs::k8s {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class HttpTest : public testing::Test {
 protected:
  // Until it holds, or a deadline has passed.
  void run_until(const std::function<bool()>& done) {
    const Deadline end = deadline_in(std::chrono::seconds(20));
    const auto wake = loop.at(end, [] {});
    loop.run_until([&] { return done() || loop.now() > end; });
    loop.cancel(wake);
    EXPECT_TRUE(done());
  }
  HttpAnswer get(Http& http, HttpRequest request) {
    std::optional<HttpAnswer> got;
    if (request.url.empty()) request.url = server.url() + "/x";
    http.send(std::move(request), [&](HttpAnswer&& answer) { got = std::move(answer); });
    EXPECT_FALSE(got);
    run_until([&] { return got.has_value(); });
    return got.value_or(HttpAnswer{});
  }

  PollLoop loop;
  TestServer::Answer answer = [](const TestServer::Request& request) {
    return TestServer::plain(200, request.head + "|" + request.body);
  };
  TestServer server{loop, [this](const TestServer::Request& request) { return answer(request); }};
  Http http{loop, {}};
};

TEST_F(HttpTest, SendsMethodHeadersAndBody) {
  const HttpAnswer got = get(http, {.method = "PATCH",
                                    .url = server.url() + "/a/../b?c=d",
                                    .headers = {"X-Y: z"},
                                    .body = "text"});
  EXPECT_EQ(got.code, 200);
  EXPECT_EQ(got.failure, HttpFailure::kNone);
  EXPECT_THAT(got.body, StartsWith("PATCH /a/../b?c=d HTTP/1.1"));
  EXPECT_THAT(got.body, HasSubstr("X-Y: z"));
  EXPECT_THAT(got.body, HasSubstr("|text"));
}

TEST_F(HttpTest, KeepsItsConnection) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(http, {}).code, 200);
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpTest, TellsWhatTheServerAsksFor) {
  answer = [](const auto&) { return TestServer::plain(429, "slow", "Retry-After: 7\r\n"); };
  const HttpAnswer got = get(http, {});
  EXPECT_EQ(got.code, 429);
  EXPECT_EQ(got.body, "slow");
  EXPECT_EQ(got.retry_after, 7);
}

TEST_F(HttpTest, RunsOnlySoManyAtATimeAndAllInTheEnd) {
  Http narrow(loop, {}, {.running = 3});
  int done = 0;
  for (int i = 0; i < 50; ++i) {
    narrow.send({.url = server.url()}, [&](HttpAnswer&& got) { done += got.code == 200; });
  }
  run_until([&] { return done == 50; });
  EXPECT_LE(server.accepted(), 3);
}

TEST_F(HttpTest, RefusesWhatIsTooMuchAndLetsTheUrgentPass) {
  std::vector<int> held;
  answer = [&](const TestServer::Request& request) -> std::string {
    if (request.head.find("/urgent") != std::string::npos) return TestServer::plain(200, "u");
    held.push_back(request.connection);
    return "";
  };
  Http narrow(loop, {}, {.running = 1, .waiting = 1});
  std::vector<std::string> told;
  const auto send = [&](const std::string& name, bool urgent) {
    narrow.send({.url = server.url() + "/" + name, .urgent = urgent}, [&, name](HttpAnswer&& got) {
      told.push_back(name + " " + std::to_string(got.code) + got.error);
    });
  };
  send("first", false);
  run_until([&] { return held.size() == 1; });
  send("second", false);
  send("third", false);
  send("urgent", true);
  run_until([&] { return told.size() == 2; });
  EXPECT_THAT(told, testing::UnorderedElementsAre(HasSubstr("third 0too many"), "urgent 200"));
}

TEST_F(HttpTest, SaysThatTheServerWasNotReached) {
  Http other(loop, {});
  std::string gone;
  {
    TestServer brief(loop, answer);
    gone = brief.url();
  }
  const HttpAnswer got = get(other, {.url = gone});
  EXPECT_EQ(got.code, 0);
  EXPECT_EQ(got.failure, HttpFailure::kNotReached);
  EXPECT_THAT(got.error, HasSubstr("Failed to connect"));
}

TEST_F(HttpTest, EndsAtItsTimeOut) {
  answer = [](const auto&) { return std::string(); };
  const HttpAnswer got = get(http, {.timeout = 0.05});
  EXPECT_EQ(got.failure, HttpFailure::kLate);
  EXPECT_THAT(got.error, HasSubstr("timed out"));
  EXPECT_EQ(http.running(), 0u);
}

TEST_F(HttpTest, SaysThatAnAnswerBroke) {
  answer = [this](const TestServer::Request& request) {
    server.write(request.connection, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    server.close(request.connection);
    return std::string();
  };
  EXPECT_EQ(get(http, {}).failure, HttpFailure::kBroken);
}

TEST_F(HttpTest, TakesNoMoreThanItMay) {
  Http small(loop, {}, {.most_body = 1000});
  answer = [](const auto&) { return TestServer::plain(200, std::string(5000, 'x')); };
  EXPECT_EQ(get(small, {}).failure, HttpFailure::kTooLong);
}

TEST_F(HttpTest, StreamsAsItComes) {
  int connection = 0;
  answer = [&](const TestServer::Request& request) {
    connection = request.connection;
    return TestServer::chunked() + TestServer::chunk("one");
  };
  std::string read;
  std::optional<HttpAnswer> end;
  http.stream(
      {.url = server.url(), .timeout = 0.05}, [&](std::string_view bytes) { read += bytes; },
      [&](HttpAnswer&& got) { end = std::move(got); });
  run_until([&] { return read == "one"; });
  // It lasts longer than its time-out, which is for the beginning.
  bool later = false;
  loop.at(loop.now() + std::chrono::milliseconds(100), [&] { later = true; });
  run_until([&] { return later; });
  EXPECT_FALSE(end);
  server.write(connection, TestServer::chunk("two") + "0\r\n\r\n");
  run_until([&] { return end.has_value(); });
  EXPECT_EQ(read, "onetwo");
  EXPECT_EQ(end->code, 200);
  EXPECT_EQ(end->failure, HttpFailure::kNone);
}

TEST_F(HttpTest, AStreamThatDoesNotBeginIsLate) {
  answer = [](const auto&) { return std::string(); };
  std::optional<HttpAnswer> end;
  http.stream(
      {.url = server.url(), .timeout = 0.05}, [](std::string_view) {},
      [&](HttpAnswer&& got) { end = std::move(got); });
  run_until([&] { return end.has_value(); });
  EXPECT_EQ(end->failure, HttpFailure::kLate);
}

TEST_F(HttpTest, AStreamThatIsRefusedHasTheBodyInItsAnswer) {
  answer = [](const auto&) { return TestServer::plain(410, "gone"); };
  std::string read;
  std::optional<HttpAnswer> end;
  http.stream(
      {.url = server.url()}, [&](std::string_view bytes) { read += bytes; },
      [&](HttpAnswer&& got) { end = std::move(got); });
  run_until([&] { return end.has_value(); });
  EXPECT_EQ(read, "");
  EXPECT_EQ(end->code, 410);
  EXPECT_EQ(end->body, "gone");
}

TEST_F(HttpTest, TellsNothingOfWhatWasCancelled) {
  answer = [](const auto&) { return TestServer::chunked() + TestServer::chunk("a"); };
  int told = 0;
  Http::Id stream = 0;
  stream = http.stream(
      {.url = server.url()},
      [&](std::string_view) {
        ++told;
        http.cancel(stream);
      },
      [&](HttpAnswer&&) { ++told; });
  const Http::Id request = http.send({.url = server.url()}, [&](HttpAnswer&&) { ++told; });
  http.cancel(request);
  run_until([&] { return told == 1 && server.open() == 0; });
  EXPECT_EQ(http.running(), 0u);
}

TEST_F(HttpTest, MayGoWithRequestsUnderWay) {
  answer = [](const auto&) { return std::string(); };
  auto brief = std::make_unique<Http>(loop, HttpTrust{});
  int told = 0;
  brief->send({.url = server.url()}, [&](HttpAnswer&&) { ++told; });
  run_until([&] { return server.open() == 1; });
  brief.reset();
  run_until([&] { return server.open() == 0; });
  EXPECT_EQ(told, 0);
}

TEST_F(HttpTest, LooksUpNamesWithoutHoldingTheLoopUp) {
  const HttpAnswer got = get(http, {.url = "http://no-such-host.invalid/"});
  EXPECT_EQ(got.failure, HttpFailure::kNotReached);
  EXPECT_THAT(got.error, HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
