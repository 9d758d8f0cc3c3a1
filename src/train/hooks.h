#pragma once

// What may look at, and stop, the steps of a monitored session.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/event_writer.h"
#include "session/session.h"
#include "train/saver.h"
#include "train/step_reporter.h"

namespace capstan {

class Hook {
 public:
  virtual ~Hook() = default;
  // Before the session is made: the graph may still grow.
  virtual void begin(Graph&) {}
  virtual void after_create_session(Session&, int64_t /*step*/) {}
  // What to fetch with the next step, besides what the caller asks for.
  virtual std::vector<Output> before_run() { return {}; }
  // The values fetched for this hook and the global step after the step. Returns true to stop.
  virtual bool after_run(Session&, std::span<const Tensor> /*values*/, int64_t /*step*/) {
    return false;
  }
  virtual void end(Session&, int64_t /*step*/) {}
};

// Stops when the global step reaches last_step.
std::shared_ptr<Hook> stop_at_step(int64_t last_step);
// Saves to "<dir>/model.ckpt" at the beginning, every `every` seconds, and at the end.
std::shared_ptr<Hook> checkpoint_every(std::shared_ptr<Saver> saver, std::string dir,
                                       std::chrono::seconds every);
// Writes the merged summaries every `steps` steps.
std::shared_ptr<Hook> summaries_every(std::shared_ptr<EventWriter> writer, Output summaries,
                                      int64_t steps);
// Writes global_step/sec every `steps` steps.
std::shared_ptr<Hook> count_steps(std::shared_ptr<EventWriter> writer, int64_t steps);
// Tells the launcher the step and the value of `loss` (none where it is a default Output), and
// stops at its limit.
std::shared_ptr<Hook> tell_launcher(std::shared_ptr<TaskChannel> channel,
                                    std::shared_ptr<StepReporter> reporter, Output loss);

}  // namespace capstan
