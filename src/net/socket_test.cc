#include "net/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace capstan
