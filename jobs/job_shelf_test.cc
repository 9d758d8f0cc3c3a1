#include "jobs/job_shelf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "jobs/fake_platform.h"
#include "jobs/recorder.h"

namespace capstan::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobRecord record_of(const std::string& id, const std::string& name, int64_t created, double ended) {
  JobRecord record{.id = id, .name = name};
  record.created = created;
  record.state = {.started = 1, .ended = ended};
  return record;
}

void put(JobShelf& shelf, const JobRecord& record) {
  shelf.create(record.id);
  shelf.write(record);
}

std::string found(const JobShelf& shelf, const std::string& text) {
  try {
    return shelf.find(text).id;
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(JobShelf, ListsTheNewestFirst) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path());
  EXPECT_TRUE(shelf.list().empty());
  put(shelf, record_of("aa", "old", 1, 2));
  put(shelf, record_of("bb", "new", 2, 2));
  ASSERT_EQ(shelf.list().size(), 2u);
  EXPECT_EQ(shelf.list()[0].id, "bb");
}

TEST(JobShelf, IsEmptyWithoutAHome) {
  EXPECT_TRUE(JobShelf(posix_files(), "").list().empty());
  EXPECT_TRUE(JobShelf(posix_files(), "/nonexistent/jobs").list().empty());
}

TEST(JobShelf, FindsByIdNameAndBeginning) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path());
  put(shelf, record_of("aa11", "mnist", 1, 2));
  put(shelf, record_of("ab22", "census", 2, 2));
  EXPECT_EQ(found(shelf, "aa11"), "aa11");
  EXPECT_EQ(found(shelf, "ab"), "ab22");
  EXPECT_EQ(found(shelf, "mnist"), "aa11");
  EXPECT_EQ(found(shelf, "cen"), "ab22");
  EXPECT_THAT(found(shelf, "a"), HasSubstr("a may be ab22 (census, succeeded), aa11 (mnist"));
  EXPECT_THAT(found(shelf, ""), HasSubstr("no job"));
  EXPECT_THAT(found(shelf, "../aa11"), HasSubstr("no job ../aa11"));
}

TEST(JobShelf, OfSeveralTakesTheOneThatRuns) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path());
  put(shelf, record_of("aa11", "mnist", 1, 2));
  put(shelf, record_of("aa22", "mnist", 2, 2));
  EXPECT_THAT(found(shelf, "mnist"), HasSubstr("may be"));
  Fd alive = shelf.create("aa33");
  shelf.write(record_of("aa33", "mnist", 3, 0));
  EXPECT_EQ(found(shelf, "mnist"), "aa33");
  EXPECT_EQ(shelf.find("aa33").state(), "running");
  alive.reset();
  EXPECT_EQ(shelf.find("aa33").state(), "lost");
}

std::vector<std::string> ids(const JobShelf& shelf) {
  std::vector<std::string> all;
  for (const ShelvedJob& job : shelf.list()) all.push_back(job.id);
  return all;
}

void put_log(const JobShelf& shelf, const std::string& id, size_t bytes) {
  posix_files().make_dirs(shelf.log_folder(id));
  auto log = posix_files().create(shelf.log_folder(id) + "/ps-0.log");
  log->append(std::string(bytes, 'x'));
  log->close();
}

bool has_log(const JobShelf& shelf, const std::string& id) {
  return posix_files().exists(shelf.log_folder(id) + "/ps-0.log");
}

TEST(JobShelf, RemovesTheOldestBeyondItsNumber) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path(), {.jobs = 3});
  for (int i = 0; i < 9; ++i) put(shelf, record_of("a" + std::to_string(i), "job", i, 2));
  Fd alive = shelf.create("ff");
  shelf.write(record_of("ff", "job", 0, 0));
  shelf.prune();
  EXPECT_THAT(ids(shelf), ElementsAre("a8", "a7", "a6", "ff"));
}

TEST(JobShelf, KeepsALongJobThatHasJustEndedBeforeShortOnesThatBeganLater) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path(), {.jobs = 2});
  put(shelf, record_of("aa", "long", 1, 1000));
  for (int i = 0; i < 4; ++i) put(shelf, record_of("b" + std::to_string(i), "short", 10 + i, 2));
  shelf.prune();
  EXPECT_THAT(ids(shelf), ElementsAre("b3", "aa"));
}

TEST(JobShelf, DropsLogsBeforeRecordsBeyondItsBytes) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path(), {.bytes = 100'000});
  for (int i = 0; i < 5; ++i) {
    put(shelf, record_of("a" + std::to_string(i), "job", i, 2));
    put_log(shelf, "a" + std::to_string(i), 40'000);
  }
  shelf.prune();
  EXPECT_EQ(ids(shelf).size(), 5u);
  EXPECT_TRUE(has_log(shelf, "a4") && has_log(shelf, "a3"));
  EXPECT_FALSE(has_log(shelf, "a2") || has_log(shelf, "a1") || has_log(shelf, "a0"));
}

TEST(JobShelf, AJobThatIsTooLargeTakesNoOtherAlong) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path(), {.bytes = 100'000});
  for (int i = 0; i < 5; ++i) {
    put(shelf, record_of("a" + std::to_string(i), "small", i, 2));
    put_log(shelf, "a" + std::to_string(i), 100);
  }
  put(shelf, record_of("ff", "large", 9, 2));
  put_log(shelf, "ff", 300'000);
  shelf.prune();
  EXPECT_THAT(ids(shelf), ElementsAre("ff", "a4", "a3", "a2", "a1", "a0"));
  EXPECT_FALSE(has_log(shelf, "ff"));
  EXPECT_TRUE(has_log(shelf, "a0"));
}

TEST(JobShelf, RemovesRecordsWhereTheyAloneAreTooMuch) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path(), {.bytes = 100'000});
  for (int i = 0; i < 5; ++i) {
    JobRecord record = record_of("a" + std::to_string(i), "job", i, 2);
    record.last_lines.assign(45, std::string(900, 'x'));
    put(shelf, record);
  }
  shelf.prune();
  EXPECT_THAT(ids(shelf), ElementsAre("a4", "a3"));
}

std::string state_after(int exit_code, std::optional<StopReason> stop, std::string cause = "") {
  ShelvedJob job{.id = "aa", .record = record_of("aa", "job", 1, 2)};
  job.record->exit_code = exit_code;
  job.record->state.stop = std::move(stop);
  job.record->cause = std::move(cause);
  return job.state();
}

TEST(JobShelf, OnlyWhatSomebodyAskedForIsAStop) {
  EXPECT_EQ(state_after(0, {}), "succeeded");
  EXPECT_EQ(state_after(143, StopReason{.exit_code = 143}), "stopped");
  EXPECT_EQ(state_after(3, StopReason{}, "worker/0"), "failed");
  EXPECT_EQ(state_after(124, StopReason{.text = "timeout", .exit_code = 124}), "failed");
  EXPECT_EQ(state_after(1, StopReason{.text = "no chief", .exit_code = 1}), "failed");
  EXPECT_EQ(state_after(137, {}), "failed");  // whoever looked after it was killed
}

TEST(JobShelf, DoesNotTakeJobsOfAnotherMachineForLost) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path(), {.jobs = 0});
  JobRecord record = record_of("aa", "job", 1, 0);
  record.host = "another machine";
  put(shelf, record);
  EXPECT_EQ(shelf.find("aa").state(), "elsewhere");
  shelf.prune();
  EXPECT_THAT(ids(shelf), ElementsAre("aa"));
  record.state.ended = 5;
  shelf.write(record);
  shelf.prune();
  EXPECT_THAT(ids(shelf), IsEmpty());
}

TEST(JobShelf, ListsWhatCannotBeRead) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path());
  shelf.create("aa");
  auto file = posix_files().create(shelf.folder("aa") + "/record.json");
  file->append("{\"version\": 1, ");
  file->close();
  ASSERT_EQ(shelf.list().size(), 1u);
  EXPECT_EQ(shelf.list()[0].state(), "unreadable");
  EXPECT_THAT(shelf.list()[0].problem, HasSubstr("capstan rm aa"));
}

TEST(Recorder, SaysOnceThatTheDiskIsFullAndGoesOn) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path());
  FakeLoop loop;
  std::vector<std::string> said;
  // Its folder is missing: writing fails as on a full disk.
  Recorder recorder(shelf, loop, record_of("aa", "job", 1, 0),
                    [&](std::string_view text) { said.emplace_back(text); });
  JobState state{.started = 1};
  recorder.save(state);
  recorder.save(state);
  loop.advance(2);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], HasSubstr("cannot be written, and the job goes on without: "));
  shelf.create("aa");
  recorder.save(state);
  loop.advance(2);
  EXPECT_EQ(shelf.read("aa").id, "aa");
}

TEST(Recorder, KeepsAJobThatMayBeTakenOverUpToDate) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path());
  shelf.create("aa");
  FakeLoop loop;
  JobRecord record = record_of("aa", "job", 1, 0);
  record.detached = true;
  Recorder recorder(shelf, loop, record, [](std::string_view) {});
  for (int restarts = 0; restarts < 3; ++restarts) {
    recorder.save({.started = 1, .restarts = restarts});
    EXPECT_EQ(shelf.read("aa").state.restarts, restarts);
  }
}

TEST(Recorder, TellsWhenNothingMoreComes) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path());
  shelf.create("aa");
  FakeLoop loop;
  Recorder recorder(shelf, loop, record_of("aa", "job", 1, 0), [](std::string_view) {});
  JobState state{.started = loop.seconds()};
  state.tasks = {{.task = {"worker", 0}}};
  recorder.save(state);
  for (int step = 1; step <= 10; ++step) {
    recorder.progress({"worker", 0}, {.step = step});
    loop.advance(0.5);
  }
  EXPECT_NEAR(shelf.read("aa").state.tasks[0].steps_per_second, 2, 0.1);
  loop.advance(10);
  EXPECT_EQ(shelf.read("aa").state.tasks[0].steps_per_second, 0);
  EXPECT_EQ(shelf.read("aa").steps_per_second, 0);
}

TEST(Recorder, WritesProgressOnceASecond) {
  TemporaryFolder folder;
  JobShelf shelf(posix_files(), folder.path());
  shelf.create("aa");
  FakeLoop loop;
  Recorder recorder(shelf, loop, record_of("aa", "job", 1, 0), [](std::string_view) {});
  JobState state{.started = loop.seconds()};
  state.tasks = {{.task = {"worker", 0}}};
  recorder.save(state);
  for (int step = 1; step <= 10; ++step) {
    recorder.progress({"worker", 0}, {.step = step, .loss = 0.5});
    loop.advance(0.05);
  }
  EXPECT_EQ(progress_of(shelf.read("aa")).step, 0);
  loop.advance(1);
  EXPECT_EQ(progress_of(shelf.read("aa")).step, 10);
  EXPECT_NEAR(shelf.read("aa").steps_per_second, 20, 1);
  EXPECT_EQ(shelf.read("aa").curve.size(), 10u);
}

}  // namespace
}  // namespace capstan::jobs
