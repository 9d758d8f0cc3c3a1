#include "net/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/error.h"

namespace capstan {
namespace {

TEST(Resolve, LocalhostIsThisMachineWhateverTheHostsFileSays) {
  for (const char* name : {"localhost", "a-name-of-no-file.localhost"}) {
    std::vector<SocketAddress> found = resolve({name, 4711});
    ASSERT_FALSE(found.empty()) << name;
    EXPECT_TRUE(is_local(found[0])) << found[0].text();
    EXPECT_EQ(found[0].port(), 4711);
  }
}

TEST(Resolve, AnUnknownHostIsNamed) {
  try {
    resolve({"no-such-host.invalid", 1});
    FAIL() << "resolved";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("no-such-host.invalid"));
  }
}

std::string congestion_control(int fd) {
  char name[32] = "";
  socklen_t length = sizeof name;
  EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
  return name;
}

TEST(Tcp, IsNotPacedWithinAHostAndTheSystemsOwnBeyond) {
  const Fd far(::socket(AF_INET, SOCK_STREAM, 0)), near(::socket(AF_INET, SOCK_STREAM, 0));
  const std::string usual = congestion_control(far.get());
  tune_tcp(far.get(), resolve({"192.0.2.1", 1}).front());  // an address of nobody
  EXPECT_EQ(congestion_control(far.get()), usual);
  tune_tcp(near.get(), resolve({"127.0.0.1", 1}).front());
  EXPECT_EQ(congestion_control(near.get()), "reno");
}

}  // namespace
}  // namespace capstan
