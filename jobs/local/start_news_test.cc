#include "jobs/local/start_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace capstan::jobs {
namespace {

struct Line {
  Line() {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    reading = Fd(fds[0]);
    writing = Fd(fds[1]);
  }
  Fd reading, writing;
};

Error told_by(Line& line) {
  line.writing.reset();
  try {
    wait_for_start(line.reading.get());
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, "");
}

TEST(StartNews, KeepsTheKindOfAFailure) {
  Line line;
  tell_failure(line.writing, resource_exhausted("no free port"));
  tell_started(line.writing);  // too late
  const Error error = told_by(line);
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_EQ(error.message(), "no free port");
}

TEST(StartNews, SilenceIsAFailure) {
  Line line;
  EXPECT_EQ(told_by(line).code(), Code::kInternal);
}

TEST(StartNews, AStartIsNone) {
  Line line;
  tell_started(line.writing);
  EXPECT_EQ(told_by(line).code(), Code::kOk);
}

}  // namespace
}  // namespace capstan::jobs
