#include "jobs/job_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace capstan::jobs {
namespace {

using testing::HasSubstr;

JobRecord full_record() {
  JobRecord record{.id = "0badcafe", .name = "mnist", .command = {"train.py", "--rate=1"}};
  record.created = 1'000'000;
  record.detached = true;
  record.controller = 12;
  record.holder = 11;
  record.state = {.started = 5, .trained = 7, .ended = 9};
  record.state.restarts = 2;
  record.state.incident = 6;
  record.state.stop = {.at = 8, .text = "stopped", .exit_code = 143, .at_once = true};
  TaskReport task{.task = {"worker", 1}, .host = "127.0.0.1", .port = 4000, .pid = 77};
  task.state = TaskState::kFailed;
  task.attempt = 2;
  task.exit_code = 137;
  task.signal = 9;
  task.error = "lost";
  task.failed_at = 6.5;
  task.attempts = {{.number = 1, .why = "SIGKILL", .step = 3, .started = 5, .ended = 6}};
  task.progress = {.step = 10, .loss = 0.5, .last_step = 100};
  record.state.tasks = {task};
  record.cause = "worker/1";
  record.last_lines = {"boom"};
  record.curve = {{1, 10, 0.5}, {2, 20, std::nullopt}};
  return record;
}

std::string failure(std::string_view text) {
  try {
    record_from_json(text);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

// As if a record had been written by another program.
std::string with(const std::string& field, const std::string& value) {
  std::string text = to_json(full_record());
  const size_t at = text.find("\"" + field + "\": ") + field.size() + 4;
  return text.replace(at, text.find_first_of(",\n}", at) - at, value);
}

TEST(JobRecord, WithNumbersOutOfTheirBoundsIsDamaged) {
  EXPECT_EQ(failure(with("port", "4001")), "");
  for (const char* port : {"-1", "65536", "1e300", "4.5", "18446744073709551615", "[[[]]]"}) {
    EXPECT_THAT(failure(with("port", port)), HasSubstr("it is damaged")) << port;
  }
  EXPECT_THAT(failure(with("attempt", "0")), HasSubstr("it is damaged"));
  EXPECT_THAT(failure(with("start_at", "1e300")), HasSubstr("start_at is no time"));
  EXPECT_THAT(failure(with("version", "[[[]]]")), HasSubstr("of version array"));
}

TEST(JobRecord, IsReadWhereItHasNoMemoryLimit) {
  std::string text = to_json(full_record());
  text.replace(text.find("memory_limit"), 12, "memory_other");
  EXPECT_EQ(record_from_json(text).state.tasks[0].memory_limit, 0);
}

TEST(JobRecord, IsReadAsItWasWritten) {
  const std::string text = to_json(full_record());
  const JobRecord read = record_from_json(text);
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.state.tasks[0].attempts[0].why, "SIGKILL");
  EXPECT_EQ(read.state.tasks[0].progress, full_record().state.tasks[0].progress);
  EXPECT_EQ(read.state.stop->exit_code, 143);
  EXPECT_EQ(read.wall(read.state.ended), 1'000'004);
  EXPECT_EQ(progress_of(read).step, 10);
}

TEST(JobRecord, KeepsWhatIsNoNumberAndNoText) {
  JobRecord record = full_record();
  record.state.tasks[0].progress.loss = std::nan("");
  record.last_lines = {"\xff\xfe\x1b[2J"};
  const JobRecord read = record_from_json(to_json(record));
  EXPECT_FALSE(read.state.tasks[0].progress.loss);
  EXPECT_THAT(read.last_lines[0], HasSubstr("\x1b[2J"));
}

TEST(JobRecord, IsBoundedWhateverTasksSay) {
  JobRecord record = full_record();
  record.state.tasks[0].error = std::string(10'000'000, 'x');
  record.last_lines.assign(50, std::string(100'000, 'y'));
  record.command.assign(100'000, "argument");
  EXPECT_LT(to_json(record).size(), 100'000u);
}

TEST(JobRecord, CutAnywhereIsDamaged) {
  const std::string text = to_json(full_record());
  for (size_t size = 0; size + 2 < text.size(); size += 7) {
    EXPECT_THAT(failure(std::string_view(text).substr(0, size)), HasSubstr("damaged")) << size;
  }
}

TEST(JobRecord, WithFieldsOfTheWrongKindIsDamaged) {
  std::string text = to_json(full_record());
  text.replace(text.find("\"id\": \"0badcafe\""), 16, "\"id\": [1, 2, 3] ");
  EXPECT_THAT(failure(text), HasSubstr("damaged"));
  text = to_json(full_record());
  text.replace(text.find("\"failed\""), 8, "\"flying\"");
  EXPECT_THAT(failure(text), HasSubstr("unknown state flying"));
}

TEST(JobRecord, OfAnotherVersionSaysWhich) {
  EXPECT_THAT(failure(R"({"version": 2})"), HasSubstr("of version 2"));
  EXPECT_THAT(failure(R"({"version": "new"})"), HasSubstr("of version \"new\""));
}

TEST(Curve, StaysShortAndKeepsItsEnds) {
  std::vector<CurvePoint> curve;
  for (int i = 0; i < 100'000; ++i) add_point(curve, {i * 0.1, i, 1.0 / (i + 1)});
  EXPECT_LE(curve.size(), 400u);
  EXPECT_GE(curve.size(), 150u);
  EXPECT_EQ(curve.front().step, 0);
  EXPECT_GT(curve.back().step, 99'000);
}

TEST(Curve, DoesNotGoBack) {
  std::vector<CurvePoint> curve;
  for (int64_t step : {5, 4, 5, 6}) add_point(curve, {1.0 + double(step), step, 0.5});
  EXPECT_EQ(curve.size(), 2u);
}

}  // namespace
}  // namespace capstan::jobs
