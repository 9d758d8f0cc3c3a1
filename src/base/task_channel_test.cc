#include "base/task_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace capstan {
namespace {

using testing::HasSubstr;

struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0); }
  ~Pair() { close(fds[0]); }

  // Everything sent so far, without waiting for more.
  std::string received() const {
    std::string all;
    char buffer[65536];
    for (;;) {
      ssize_t n = recv(fds[0], buffer, sizeof buffer, MSG_DONTWAIT);
      if (n <= 0) return all;
      all.append(buffer, static_cast<size_t>(n));
    }
  }

  int fds[2] = {-1, -1};
};

TEST(TaskChannel, IsSilentWithoutALauncher) {
  TaskChannel none;
  none.step(1);
  none.error("Internal", "lost");
  none.end();
  EXPECT_FALSE(none.connected());
}

TEST(TaskChannel, RefusesADescriptorThatIsNoUnixSocket) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  EXPECT_FALSE(TaskChannel(pipes[1]).connected());
  close(pipes[0]);
  close(pipes[1]);
}

TEST(TaskChannel, SendsTheFirstStepAtOnceAndTheLastOneAtTheEnd) {
  Pair pair;
  TaskChannel channel(pair.fds[1]);
  for (int i = 1; i <= 1000; ++i) channel.step(i, 0.5, 2000);
  channel.end();
  std::string lines = pair.received();
  EXPECT_THAT(lines, HasSubstr("\"step\":1,\"loss\":0.5,\"last_step\":2000}\n"));
  EXPECT_THAT(lines, HasSubstr("\"step\":1000,"));
  EXPECT_THAT(lines, HasSubstr("{\"event\":\"end\""));
  EXPECT_LT(lines.size(), 100'000u);
}

TEST(TaskChannel, SendsOnlyTheFirstError) {
  Pair pair;
  TaskChannel channel(pair.fds[1]);
  channel.error(not_found("no \"w\""));
  channel.error("Internal", "second");
  std::string lines = pair.received();
  EXPECT_THAT(lines, HasSubstr("\"code\":\"NotFound\",\"message\":\"NotFound: no \\\"w\\\"\""));
  EXPECT_THAT(lines, Not(HasSubstr("second")));
}

TEST(TaskChannel, DropsEventsInsteadOfBlockingWhenTheLauncherDoesNotRead) {
  Pair pair;
  TaskChannel channel(pair.fds[1]);
  for (int i = 0; i < 100'000; ++i) channel.port(1);
  EXPECT_THAT(pair.received(), HasSubstr("\"port\":1}\n"));
}

TEST(JsonQuote, EscapesControlCharactersAndReplacesBrokenUtf8) {
  EXPECT_EQ(json_quote("a\"\\\n\x01"), "\"a\\\"\\\\\\n\\u0001\"");
  EXPECT_EQ(json_quote("\xE4\xBD\xA0"), "\"\xE4\xBD\xA0\"");
  EXPECT_EQ(json_quote("\xFFz"), "\"\\ufffdz\"");
}

}  // namespace
}  // namespace capstan
