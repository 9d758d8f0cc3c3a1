#include "train/step_reporter.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace capstan {
namespace {

class StepReporterTest : public ::testing::Test {
 protected:
  StepReporterTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    channel = std::make_shared<TaskChannel>(ends[0]);
    launcher = ends[1];
  }
  ~StepReporterTest() override { close(launcher); }

  // What the launcher hears next, without the time.
  std::string heard() {
    char line[512];
    const ssize_t size = recv(launcher, line, sizeof line, MSG_DONTWAIT);
    std::string text(line, size > 0 ? size_t(size) : 0);
    const size_t at = text.find("\"step\":");
    return at == text.npos ? text : text.substr(at);
  }

  std::shared_ptr<TaskChannel> channel;
  int launcher = -1;
};

TEST_F(StepReporterTest, TellsTheStepTheLossAndTheEarlierEnd) {
  StepReporter reporter(channel, 500);
  EXPECT_TRUE(reporter.due());
  reporter.ends_at(90);
  reporter.report(7, 0.5);
  EXPECT_EQ(heard(), "\"step\":7,\"loss\":0.5,\"last_step\":90}\n");
  EXPECT_FALSE(reporter.due());
}

TEST_F(StepReporterTest, TheLastStepGoesOutWithTheLastLoss) {
  StepReporter reporter(channel);
  reporter.report(7, 0.5);
  heard();
  reporter.finish(9);
  channel->end();
  EXPECT_EQ(heard(), "\"step\":9,\"loss\":0.5}\n");
}

TEST_F(StepReporterTest, KnowsTheLimit) {
  EXPECT_TRUE(StepReporter(channel, 5).reached(5));
  EXPECT_FALSE(StepReporter(channel, 5).reached(4));
  EXPECT_FALSE(StepReporter(channel).reached(4));
}

TEST(StepReporter, IsNeverWaitedForWhereNobodyListens) {
  EXPECT_GT(StepReporter(std::make_shared<TaskChannel>()).next_time(), 1e300);
}

TEST(StepReporter, FindsLossesByWhatTheyAreCalled) {
  EXPECT_TRUE(is_called_loss("model/Cross_Entropy:0"));
  EXPECT_FALSE(is_called_loss("model/accuracy:0"));
}

}  // namespace
}  // namespace capstan
