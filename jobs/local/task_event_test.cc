#include "jobs/local/task_event.h"

#include <gtest/gtest.h>

namespace capstan::jobs {
namespace {

TEST(TaskEvent, ReadsWhatATaskTells) {
  TaskEvent step = task_event(R"({"event":"step","step":7,"loss":0.5,"last_step":100})");
  EXPECT_EQ(step.step, 7);
  EXPECT_EQ(step.loss, 0.5);
  EXPECT_EQ(step.last_step, 100);
  EXPECT_EQ(task_event(R"({"event":"port","port":2222})").port, 2222);
  TaskEvent serves = task_event(R"({"event":"serves","trained":true})");
  EXPECT_TRUE(serves.serves && serves.trained);
  EXPECT_FALSE(task_event(R"({"event":"serves","trained":false})").trained);
  EXPECT_EQ(task_event(R"({"event":"waits","for":"chief"})").waits_for, "chief");
  TaskEvent error = task_event(R"({"event":"error","time":1.5,"code":"Aborted","message":"m"})");
  ASSERT_TRUE(error.error);
  EXPECT_EQ(error.error->time, 1.5);
  EXPECT_EQ(error.error->code, "Aborted");
  EXPECT_EQ(error.error->message, "m");
}

TEST(TaskEvent, LeavesOutFieldsOfTheWrongKind) {
  TaskEvent step = task_event(R"({"event":"step","step":"7","loss":[],"last_step":1e300})");
  EXPECT_FALSE(step.step || step.loss || step.last_step);
  EXPECT_FALSE(task_event(R"({"event":"step","step":18446744073709551615})").step);
  EXPECT_FALSE(task_event(R"({"event":"port","port":70000})").port);
  EXPECT_EQ(task_event(R"({"event":"error","code":3})").error->code, "");
  EXPECT_FALSE(task_event(R"({"event":"serves","trained":"yes"})").trained);
  EXPECT_EQ(task_event(R"({"event":"waits","for":7})").waits_for, "");
}

TEST(TaskEvent, IsEmptyForWhatIsNotOurs) {
  for (const char* line :
       {"", "hello", "[1]", R"({"event":1})", R"({"event":{}})", "{\"event\":"}) {
    TaskEvent event = task_event(line);
    EXPECT_FALSE(event.step || event.port || event.error || event.serves || event.waits_for)
        << line;
  }
}

TEST(TaskEvent, LeavesATimeOutThatNoClockShows) {
  const TaskEvent event = task_event(R"({"event":"error","time":1e300,"message":"m"})");
  ASSERT_TRUE(event.error);
  EXPECT_EQ(event.error->time, std::nullopt);
}

}  // namespace
}  // namespace capstan::jobs
