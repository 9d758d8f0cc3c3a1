#include "train/monitored_session.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "build/operators.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

// A variable that is counted up by every step, and the step with it.
struct Counter {
  Graph g{standard_catalog()};
  VariableRef step = make_global_step(g);
  Node* train = g.add("AssignAdd", {step.ref, g.constant(Tensor::scalar<int64_t>(1))}).node;

  MonitoredSessionOptions options() {
    MonitoredSessionOptions options;
    options.variables = {step};
    options.global_step = step;
    return options;
  }
};

TEST(MonitoredSession, StopsAtTheLastStep) {
  Counter c;
  MonitoredSessionOptions options = c.options();
  options.max_steps = 5;
  MonitoredSession session(c.g, options);
  while (!session.should_stop()) session.run({}, {}, {&c.train, 1});
  EXPECT_EQ(session.step(), 5);
}

TEST(MonitoredSession, GoesOnFromItsCheckpoint) {
  auto folder = std::filesystem::temp_directory_path() / fmt::format("capstan-{}", getpid());
  for (int64_t last : {3, 7}) {
    Counter c;
    MonitoredSessionOptions options = c.options();
    options.checkpoint_dir = folder.string();
    options.max_steps = last;
    MonitoredSession session(c.g, options);
    EXPECT_EQ(session.step(), last == 3 ? 0 : 3);
    while (!session.should_stop()) session.run({}, {}, {&c.train, 1});
    session.close();
  }
  std::filesystem::remove_all(folder);
}

TEST(MonitoredSession, HooksSeeWhatTheyFetchAndMayStop) {
  struct Watcher : Hook {
    Output fetched;
    std::vector<int64_t> seen;
    std::vector<Output> before_run() override { return {fetched}; }
    bool after_run(Session&, std::span<const Tensor> values, int64_t step) override {
      seen.push_back(*values[0].data<int64_t>());
      return step >= 2;
    }
  };
  Counter c;
  auto watcher = std::make_shared<Watcher>();
  watcher->fetched = c.step.ref;
  MonitoredSessionOptions options = c.options();
  options.hooks = {watcher};
  MonitoredSession session(c.g, options);
  while (!session.should_stop()) session.run({}, {}, {&c.train, 1});
  EXPECT_EQ(watcher->seen, (std::vector<int64_t>{1, 2}));
}

TEST(MonitoredSession, AQueueRunnerThatFailsEndsTheStepThatWaitsForIt) {
  Counter c;
  std::vector<DType> types = {DType::kFloat};
  Output queue = c.g.add("FIFOQueueV2", {}, {{"component_types", types}});
  Output fed = placeholder(c.g, DType::kFloat, {}, "never_fed");
  Output items[] = {queue, fed};
  Node& enqueue = c.g.add_node("QueueEnqueueV2", items);
  Output got = c.g.add("QueueDequeueV2", {queue}, {{"component_types", types}});
  MonitoredSessionOptions options = c.options();
  options.queue_ops = {&enqueue};
  MonitoredSession session(c.g, options);
  try {
    session.run({}, {&got, 1});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
    EXPECT_NE(std::string(error.what()).find("never_fed"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace capstan
