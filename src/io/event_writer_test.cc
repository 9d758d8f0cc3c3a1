#include "io/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "base/memory_files.h"
#include "io/event_reader.h"

namespace capstan {
namespace {

std::vector<pb::Event> events_of(Files& files, const std::string& path) {
  EventReader reader(files, path);
  std::vector<pb::Event> out;
  while (auto event = reader.next()) out.push_back(*event);
  return out;
}

struct Clock {
  double seconds = 1500000000.5;
  EventWriterOptions options() {
    return {.now = [this] { return seconds; }, .host = "host"};
  }
};

// Counts flushes, which memory does not need.
class CountingFiles : public MemoryFiles {
 public:
  std::unique_ptr<WritableFile> create(const std::string& path, WriteMode mode) override {
    return std::make_unique<Counting>(MemoryFiles::create(path, mode), flushes);
  }
  int flushes = 0;

 private:
  struct Counting : WritableFile {
    Counting(std::unique_ptr<WritableFile> f, int& n) : file(std::move(f)), flushes(n) {}
    void append(std::string_view bytes) override { file->append(bytes); }
    void flush() override { ++flushes; }
    void sync() override {}
    void close() override {}
    std::unique_ptr<WritableFile> file;
    int& flushes;
  };
};

TEST(EventWriter, NamesTheFileAsTensorBoardExpectsAndBeginsWithTheVersion) {
  MemoryFiles files;
  Clock clock;
  EventWriter writer(files, "/logs", ".v2", clock.options());
  EXPECT_EQ(writer.path(), "/logs/events.out.tfevents.1500000000.host.v2");
  std::vector<pb::Event> events = events_of(files, writer.path());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[0].wall_time(), 1500000000.5);
}

TEST(EventWriter, WritesEveryKind) {
  MemoryFiles files;
  Clock clock;
  EventWriter writer(files, "/logs", "", clock.options());
  writer.add_session_log(pb::SessionLog::START, 7);
  writer.add_scalar("loss", 0.25f, 8);
  pb::Summary summary;
  summary.add_value()->set_tag("accuracy");
  writer.add_summary(summary.SerializeAsString(), 9);
  writer.add_graph("graph");
  writer.close();
  std::vector<pb::Event> events = events_of(files, writer.path());
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[1].session_log().status(), pb::SessionLog::START);
  EXPECT_EQ(events[1].step(), 7);
  EXPECT_EQ(events[2].summary().value(0).simple_value(), 0.25f);
  EXPECT_EQ(events[3].summary().value(0).tag(), "accuracy");
  EXPECT_EQ(events[4].graph_def(), "graph");
}

TEST(EventWriter, TwoWritersOfOneSecondDoNotShareAFile) {
  MemoryFiles files;
  Clock clock;
  EventWriter first(files, "/logs", "", clock.options());
  EventWriter second(files, "/logs", "", clock.options());
  EXPECT_NE(first.path(), second.path());
}

TEST(EventWriter, FlushesAfterSoManyEventsOrSeconds) {
  CountingFiles files;
  Clock clock;
  EventWriterOptions options = clock.options();
  options.flush_events = 3;
  options.flush_seconds = 10;
  EventWriter writer(files, "/logs", "", options);
  int start = files.flushes;
  writer.add_scalar("a", 1, 1);
  writer.add_scalar("a", 1, 2);
  EXPECT_EQ(files.flushes, start);
  writer.add_scalar("a", 1, 3);
  EXPECT_EQ(files.flushes, start + 1);
  clock.seconds += 11;
  writer.add_scalar("a", 1, 4);
  EXPECT_EQ(files.flushes, start + 2);
}

TEST(EventWriter, RefusesWhatIsNoSummaryAndEventsAfterClose) {
  MemoryFiles files;
  EventWriter writer(files, "/logs");
  EXPECT_THROW(writer.add_summary("\xff\xff", 1), Error);
  writer.close();
  writer.close();
  EXPECT_THROW(writer.add_scalar("a", 1, 1), Error);
}

TEST(EventWriter, ThreadsMayShareIt) {
  MemoryFiles files;
  EventWriter writer(files, "/logs");
  auto work = [&] {
    for (int i = 0; i < 200; ++i) writer.add_scalar("a", 1, i);
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  writer.close();
  EXPECT_EQ(events_of(files, writer.path()).size(), 401u);
}

}  // namespace
}  // namespace capstan
