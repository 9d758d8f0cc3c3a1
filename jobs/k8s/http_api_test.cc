#include "jobs/k8s/http_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "jobs/k8s/http_address.h"
#include "jobs/k8s/test_server.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class Seen : public WatchSink, public LogFollower {
 public:
  void event(std::string_view type, json&& object) override {
    all.push_back(std::string(type) + " " + object.dump());
    if (then) then();
  }
  void line(std::string_view text) override { all.emplace_back(text); }
  void closed(const std::optional<Error>& error, int code) override {
    all.push_back("closed " + std::to_string(code) + (error ? " " + error->message() : ""));
  }
  std::vector<std::string> all;
  std::function<void()> then;
};

class HttpApiTest : public testing::Test {
 protected:
  void run_until(const std::function<bool()>& done) {
    const Deadline end = deadline_in(std::chrono::seconds(20));
    const auto wake = loop.at(end, [] {});
    loop.run_until([&] { return done() || loop.now() > end; });
    loop.cancel(wake);
    EXPECT_TRUE(done());
  }
  ApiAnswer ask(ApiCall call) {
    std::optional<ApiAnswer> got;
    api->call(std::move(call), [&](const ApiAnswer& answer) { got = answer; });
    run_until([&] { return got.has_value(); });
    return got.value_or(ApiAnswer{});
  }
  void make(KubeConfig config, HttpApiOptions options = {}) {
    if (config.server.empty()) config.server = server.url();
    config.source = "the test";
    api = std::make_unique<HttpApi>(loop, std::move(config), options);
  }
  void SetUp() override { make({.token = "secret"}); }

  PollLoop loop;
  std::vector<std::string> requests;
  std::string reply = TestServer::plain(200, "{}");
  TestServer server{loop, [this](const TestServer::Request& request) {
                      requests.push_back(request.head + "\n" + request.body);
                      connection = request.connection;
                      return reply;
                    }};
  int connection = 0;
  std::unique_ptr<HttpApi> api;
  Seen seen;
};

TEST_F(HttpApiTest, AsksWithMethodAddressTokenAndBody) {
  const auto body = std::make_shared<json>(json{{"metadata", {{"name", "p"}}}});
  ask({Verb::kGet, kPods, {"a", "p"}});
  ask({Verb::kGet, kTfJobs, {}, "", "limit=5"});
  ask({Verb::kCreate, kPods, {"a", ""}, "", "", body});
  ask({Verb::kUpdate, kTfJobs, {"a", "j"}, "status", "", body});
  ask({Verb::kMergePatch, kNodes, {"", "n"}, "", "", body});
  ask({Verb::kDelete, kLeases, {"a", "../x"}});
  ASSERT_EQ(requests.size(), 6u);
  EXPECT_THAT(requests[0],
              AllOf(StartsWith("GET /api/v1/namespaces/a/pods/p HTTP"),
                    HasSubstr("Authorization: Bearer secret"), HasSubstr("User-Agent: capstan/")));
  EXPECT_THAT(requests[1], StartsWith("GET /apis/kubeflow.org/v1/tfjobs?limit=5 HTTP"));
  EXPECT_THAT(requests[2], AllOf(StartsWith("POST /api/v1/namespaces/a/pods HTTP"),
                                 HasSubstr("Content-Type: application/json"),
                                 HasSubstr(R"({"metadata":{"name":"p"}})")));
  EXPECT_THAT(requests[3],
              StartsWith("PUT /apis/kubeflow.org/v1/namespaces/a/tfjobs/j/status HTTP"));
  EXPECT_THAT(requests[4], AllOf(StartsWith("PATCH /api/v1/nodes/n HTTP"),
                                 HasSubstr("application/merge-patch+json")));
  EXPECT_THAT(requests[5],
              StartsWith("DELETE /apis/coordination.k8s.io/v1/namespaces/a/leases/..%2Fx"));
}

TEST_F(HttpApiTest, TellsWhatTheServerRefused) {
  reply = TestServer::plain(409,
                            R"({"kind":"Status","reason":"AlreadyExists","message":"it is there"})",
                            "Retry-After: 2\r\n");
  const ApiAnswer answer = ask({Verb::kGet, kPods, {"a", "p"}});
  EXPECT_EQ(answer.code, 409);
  EXPECT_EQ(answer.error->code(), Code::kAlreadyExists);
  EXPECT_THAT(answer.error->message(),
              HasSubstr("cannot get pods a/p: the server answers 409: it is there"));
  EXPECT_EQ(answer.retry_after, 2);
  reply = TestServer::plain(502, "<html>bad gateway");
  EXPECT_THAT(ask({Verb::kGet, kPods, {"a", "p"}}).error->message(),
              HasSubstr("<html>bad gateway"));
}

TEST_F(HttpApiTest, TellsAnAnswerThatCannotBeRead) {
  reply = TestServer::plain(200, "<html>");
  const ApiAnswer answer = ask({Verb::kGet, kPods, {"a", "p"}});
  EXPECT_EQ(answer.error->code(), Code::kDataLoss);
  EXPECT_THAT(answer.error->message(), HasSubstr("cannot get pods a/p"));
}

TEST_F(HttpApiTest, TellsThatItCameTooLate) {
  reply = "";
  const ApiAnswer answer =
      ask({.verb = Verb::kGet, .resource = kPods, .object = {"a", "p"}, .timeout = 0.05});
  EXPECT_EQ(answer.code, 0);
  EXPECT_EQ(answer.error->code(), Code::kDeadlineExceeded);
  EXPECT_THAT(answer.error->message(), HasSubstr("may have been done"));
}

TEST_F(HttpApiTest, SaysWhoseCredentialsWereRefusedAndReadsATokenThatRotatesAgain) {
  TemporaryFolder folder;
  const std::string path = folder.put("token", "one\n");
  make({.token_file = path});
  reply = TestServer::plain(401, "{}");
  EXPECT_THAT(ask({Verb::kGet, kPods, {"a", "p"}}).error->message(), HasSubstr("from the test"));
  EXPECT_THAT(requests.back(), HasSubstr("Bearer one"));
  folder.put("token", "two\n");
  ask({Verb::kGet, kPods, {"a", "p"}});
  EXPECT_THAT(requests.back(), HasSubstr("Bearer two"));
}

TEST_F(HttpApiTest, ReadsALogAsText) {
  reply = TestServer::plain(200, "one\ntwo\n");
  EXPECT_EQ(*ask({Verb::kGet, kPods, {"a", "p"}, "log"}).body, "one\ntwo\n");
}

TEST_F(HttpApiTest, WatchesEventsHoweverTheyAreCut) {
  reply = TestServer::chunked() + TestServer::chunk(R"({"type":"ADDED","obj)");
  const auto watch = api->watch(kPods, "a", "resourceVersion=5", seen);
  run_until([&] { return connection > 0; });
  EXPECT_THAT(requests[0],
              StartsWith("GET /api/v1/namespaces/a/pods?watch=true&resourceVersion=5"));
  server.write(connection,
               TestServer::chunk("ect\":{\"a\":1}}\n{\"type\":\"BOOKMARK\",\"object\":{}}\n"));
  run_until([&] { return seen.all.size() == 2; });
  server.write(connection, "0\r\n\r\n");
  run_until([&] { return seen.all.size() == 3; });
  EXPECT_THAT(seen.all, ElementsAre(R"(ADDED {"a":1})", "BOOKMARK {}", "closed 200"));
}

TEST_F(HttpApiTest, AnErrorInAWatchClosesItWithItsCode) {
  reply = TestServer::chunked() +
          TestServer::chunk(
              R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"
              "\n"
              R"({"type":"ADDED","object":{}})"
              "\n");
  const auto watch = api->watch(kPods, "", "", seen);
  run_until([&] { return !seen.all.empty(); });
  EXPECT_THAT(seen.all, ElementsAre(AllOf(StartsWith("closed 410"), HasSubstr("too old"))));
}

TEST_F(HttpApiTest, AWatchThatIsRefusedOrBreaksIsClosed) {
  reply = TestServer::plain(403, R"({"message":"User cannot watch"})");
  auto watch = api->watch(kPods, "", "", seen);
  run_until([&] { return seen.all.size() == 1; });
  EXPECT_THAT(seen.all[0], AllOf(StartsWith("closed 403"), HasSubstr(R"(verbs: ["watch"])")));
  reply = TestServer::chunked() + TestServer::chunk("{\"type\":");
  watch = api->watch(kPods, "", "", seen);
  run_until([&] { return requests.size() == 2; });
  server.close(connection);
  run_until([&] { return seen.all.size() == 2; });
  EXPECT_THAT(seen.all[1], StartsWith("closed 0 cannot watch pods in all namespaces"));
}

TEST_F(HttpApiTest, AnEventThatIsTooLongOrNoneClosesAWatch) {
  make({}, {.most_line = 100});
  reply = TestServer::chunked() + TestServer::chunk(std::string(200, 'x'));
  auto watch = api->watch(kPods, "", "", seen);
  run_until([&] { return seen.all.size() == 1; });
  EXPECT_THAT(seen.all[0], HasSubstr("longer than"));
  reply = TestServer::chunked() + TestServer::chunk("nonsense\n");
  watch = api->watch(kPods, "", "", seen);
  run_until([&] { return seen.all.size() == 2; });
  EXPECT_THAT(seen.all[1], HasSubstr("no JSON"));
}

TEST_F(HttpApiTest, AWatchMayBeEndedFromInside) {
  reply =
      TestServer::chunked() +
      TestServer::chunk("{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"ADDED\",\"object\":{}}\n");
  std::unique_ptr<Watch> watch;
  seen.then = [&] { watch.reset(); };
  watch = api->watch(kPods, "", "", seen);
  run_until([&] { return !watch && server.open() == 0; });
  EXPECT_THAT(seen.all, ElementsAre("ADDED {}"));
}

TEST_F(HttpApiTest, FollowsALogToItsLastLine) {
  reply = TestServer::chunked() + TestServer::chunk("one\ntw");
  const auto log = api->read_log({"a", "p"}, "follow=true&container=c", seen);
  run_until([&] { return seen.all.size() == 1; });
  EXPECT_THAT(requests[0],
              StartsWith("GET /api/v1/namespaces/a/pods/p/log?follow=true&container=c"));
  server.write(connection, TestServer::chunk("o\nlast") + "0\r\n\r\n");
  run_until([&] { return seen.all.size() == 4; });
  EXPECT_THAT(seen.all, ElementsAre("one", "two", "last", "closed 200"));
}

TEST_F(HttpApiTest, AsksNoMoreOftenThanItMay) {
  make({}, {.requests_per_second = 100, .burst = 5});
  int done = 0;
  const Deadline begin = loop.now();
  for (int i = 0; i < 15; ++i) {
    api->call({Verb::kGet, kPods, {"a", "p"}}, [&](const ApiAnswer&) { ++done; });
  }
  run_until([&] { return done == 15; });
  EXPECT_GE(loop.now() - begin, std::chrono::milliseconds(95));
}

TEST(HttpAddress, HasHostAndPort) {
  EXPECT_EQ(host_and_port("https://10.0.0.1:6443/k8s/c1"), "10.0.0.1:6443");
  EXPECT_EQ(host_and_port("https://kube"), "kube:443");
  EXPECT_EQ(host_and_port("https://[fd00::1]:6443"), "[fd00::1]:6443");
  EXPECT_EQ(host_and_port("http://[fd00::1]"), "[fd00::1]:80");
  EXPECT_EQ(with_host("https://10.0.0.1:6443/k8s", "kube"), "https://kube:6443/k8s");
  EXPECT_EQ(with_host("https://10.0.0.1", ""), "https://10.0.0.1");
}

}  // namespace
}  // namespace capstan::jobs::k8s
