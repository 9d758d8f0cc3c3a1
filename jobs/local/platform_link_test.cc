#include "jobs/local/platform_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "jobs/fake_platform.h"
#include "jobs/local/link_packets.h"
#include "jobs/local/pipes.h"

namespace capstan::jobs {
namespace {

struct Pair {
  Fd theirs;
  Fd ours = make_packet_pair(theirs);
};

class Link : public testing::Test {
 protected:
  Link()
      : platform_(clock_),
        server_(loop_, platform_, [](const TaskId& task) { return TaskSpec{.task = task}; }) {}

  // The server has said what there is before the controller reads it.
  std::unique_ptr<RemotePlatform> connect() {
    Pair pair;
    server_.serve(std::move(pair.ours));
    return std::make_unique<RemotePlatform>(loop_, std::move(pair.theirs),
                                            [this] { gone_ = true; });
  }
  // Both ends have done all they can.
  void settle() {
    for (int i = 0; i < 5; ++i) {
      clock_.run_posted();
      bool once = false;
      loop_.post([] {});
      loop_.run_until([&] { return std::exchange(once, true); });
    }
  }

  PollLoop loop_;
  FakeLoop clock_;
  FakePlatform platform_;
  PlatformServer server_;
  bool gone_ = false;
};

const TaskId kWorker{"worker", 0};

TEST_F(Link, StartsAndStopsTasksAtTheOtherSide) {
  auto remote = connect();
  EXPECT_TRUE(remote->list().empty());
  remote->start({.task = kWorker}, 1);
  ASSERT_EQ(remote->list().size(), 1u);  // at once
  settle();
  EXPECT_TRUE(platform_.runs(kWorker));
  remote->stop(kWorker, StopHow::kKill);
  settle();
  ASSERT_TRUE(remote->list()[0].ended);
  EXPECT_EQ(remote->list()[0].signal, 9);
  EXPECT_THAT(remote->last_lines(kWorker), testing::ElementsAre("last of worker/0"));
  remote->clean_up();
  settle();
  EXPECT_EQ(platform_.cleaned, 1);
}

TEST_F(Link, TellsANewControllerWhatThereIs) {
  auto first = connect();
  first->start({.task = kWorker}, 3);
  first->start({.task = {"ps", 0}}, 1);
  first.reset();  // killed: what it asked for last is done all the same
  server_.hang_up();
  platform_.error(kWorker, "Internal", "boom");
  auto second = connect();
  ASSERT_EQ(second->list().size(), 2u);
  EXPECT_EQ(second->list()[1].attempt, 3);
  EXPECT_EQ(second->list()[1].told.error->message, "boom");
}

TEST_F(Link, DoesWhatWasAskedByOneThatDiedWithNewsUnread) {
  auto first = connect();
  platform_.start({.task = {"ps", 0}}, 1);
  platform_.error({"ps", 0}, "Internal");
  clock_.run_posted();  // sent, and never read
  first->start({.task = kWorker}, 1);
  first->stop({"ps", 0}, StopHow::kKill);
  first.reset();
  server_.hang_up();
  EXPECT_TRUE(platform_.runs(kWorker));
  EXPECT_FALSE(platform_.runs({"ps", 0}));
}

TEST_F(Link, KnowsWhenTheOtherSideIsGone) {
  Pair pair;
  server_.serve(std::move(pair.ours));
  RemotePlatform remote(loop_, std::move(pair.theirs), [this] { gone_ = true; });
  server_.hang_up();
  settle();
  EXPECT_TRUE(gone_);
  Pair closed;
  closed.ours.reset();
  EXPECT_THROW(RemotePlatform(loop_, std::move(closed.theirs), [] {}), Error);
}

TEST(StatusPacket, IsReadAsItWasWrittenAndBounded) {
  StatusPacket packet;
  packet.status = {.task = {"ps", 2}, .attempt = 4, .ended = true, .host = "h", .port = 9};
  packet.status.start_error = not_found("no program");
  packet.status.told.error = TaskError{1.5, "Internal", std::string(1'000'000, '\x01')};
  packet.status.told.progress = {.step = 3, .loss = 0.5, .last_step = 9};
  packet.last_lines.assign(50, std::string(100'000, '\xff'));
  const std::string text = to_json(packet);
  EXPECT_LT(text.size(), 200'000u);
  const auto read = status_from_json(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status.task, packet.status.task);
  EXPECT_EQ(read->status.start_error->code(), Code::kNotFound);
  EXPECT_EQ(read->status.told.progress, packet.status.told.progress);
  EXPECT_FALSE(status_from_json("{}") || status_from_json("synced") || request_from_json("[]"));
}

}  // namespace
}  // namespace capstan::jobs
