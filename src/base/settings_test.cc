#include "base/settings.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>

#include "base/error.h"

namespace capstan {
namespace {

Settings parse(std::map<std::string, std::string> variables) {
  return parse_settings([&](const char* name) -> std::optional<std::string> {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string failure(std::map<std::string, std::string> variables) {
  try {
    parse(std::move(variables));
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(Settings, AreEmptyInAnEmptyEnvironment) {
  Settings s = parse({});
  EXPECT_EQ(s.listen_fd, -1);
  EXPECT_EQ(s.workers_on_host, 1);
  EXPECT_EQ(s.transport, TransportChoice::kAuto);
  EXPECT_TRUE(s.resolve.empty());
}

TEST(Settings, ReadWhatTheLauncherSets) {
  Settings s = parse({{"CAPSTAN_LISTEN_FD", "5"},
                      {"CAPSTAN_MAX_STEPS", "3000000000"},
                      {"CAPSTAN_TRANSPORT", "shm"},
                      {"CAPSTAN_WORKERS_ON_HOST", "4"}});
  EXPECT_EQ(s.listen_fd, 5);
  EXPECT_EQ(s.max_steps, 3000000000);
  EXPECT_EQ(s.transport, TransportChoice::kShm);
  EXPECT_EQ(s.workers_on_host, 4);
}

TEST(Settings, NameTheVariableAndTheTextThatIsWrong) {
  EXPECT_EQ(failure({{"CAPSTAN_LISTEN_FD", "5x"}}),
            "CAPSTAN_LISTEN_FD=\"5x\": expected a whole number of at least 0");
  EXPECT_EQ(failure({{"CAPSTAN_TRANSPORT", "rdma"}}),
            "CAPSTAN_TRANSPORT=\"rdma\": expected tcp, unix, shm or auto");
  EXPECT_THAT(failure({{"CAPSTAN_RESOLVE", "pc-01"}}),
              testing::HasSubstr("expected name[:port]=address[:port]"));
}

TEST(StateDir, IsTheOneThatIsNamedFirst) {
  std::map<std::string, std::string> variables;
  auto dir = [&] {
    return parse_state_dir([&](const char* name) -> std::optional<std::string> {
      auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(dir(), "");
  variables["HOME"] = "/home/me";
  EXPECT_EQ(dir(), "/home/me/.local/state/capstan");
  variables["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(dir(), "/state/capstan");
  variables["CAPSTAN_STATE_DIR"] = "/own";
  EXPECT_EQ(dir(), "/own");
}

TEST(ResolveRules, MatchByNameAndOptionallyByPort) {
  Settings s = parse({{"CAPSTAN_RESOLVE", "pc-01:2222=127.0.0.1:4000,pc-02=127.0.0.2"}});
  EXPECT_EQ(s.resolve_address("pc-01:2222"), "127.0.0.1:4000");
  EXPECT_EQ(s.resolve_address("pc-01:2223"), "pc-01:2223");
  EXPECT_EQ(s.resolve_address("pc-02:7"), "127.0.0.2:7");
  EXPECT_EQ(s.resolve_address("elsewhere:7"), "elsewhere:7");
}

TEST(ResolveRules, ReadBackAsTheyWereWritten) {
  for (const char* text : {"a=b", "a:1=b", "a=b:2", "a:1=b:2", "a:1=[::1]:2"}) {
    EXPECT_EQ(to_string(parse_resolve_rule(text)), text);
  }
}

TEST(InheritedListener, IsRefusedUnlessItListensOnThePort) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  uint16_t port = ntohs(address.sin_port);
  Settings settings;
  settings.listen_fd = fd;
  EXPECT_EQ(inherited_listener(settings, port), -1);
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_EQ(inherited_listener(settings, port), fd);
  EXPECT_EQ(inherited_listener(settings, static_cast<uint16_t>(port + 1)), -1);
  close(fd);
  EXPECT_EQ(inherited_listener(settings, port), -1);
}

}  // namespace
}  // namespace capstan
