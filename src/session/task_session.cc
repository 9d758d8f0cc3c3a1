#include "session/task_session.h"

#include <optional>

#include "session/conductor.h"

namespace capstan {
namespace {

// While it lives, the cancellation ends the conductor's run.
class Guard {
 public:
  Guard(Cancellation& cancellation, const Conductor& conductor, std::string_view why)
      : cancellation_(cancellation), id_(cancellation.add(conductor.canceller())) {
    if (id_ == 0) throw cancelled("{}", why);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { cancellation_.remove(id_); }

 private:
  Cancellation& cancellation_;
  const uint64_t id_;
};

void count_takers(Executable& executable) {
  for (Executable::Part& part : executable.parts) {
    std::set<int> givers;
    for (const Source& source : part.inputs) {
      if (source.segment >= 0) givers.insert(source.segment);
    }
    for (int giver : givers) ++executable.parts[size_t(giver)].takers;
    part.givers.assign(givers.begin(), givers.end());
  }
  for (const Source& source : executable.fetches) {
    if (source.segment >= 0) ++executable.parts[size_t(source.segment)].takers;
  }
}

}  // namespace

std::shared_ptr<Executable> TaskSession::prepare(const PlanRequest& request) {
  Plan plan = make_plan(graph_, request, placement_);
  auto executable = std::make_shared<Executable>();
  executable->feeds = request.feeds;
  executable->fetches = plan.fetches;
  for (size_t i = 0; i < plan.segments.size(); ++i) add_part(*executable, plan, i);
  count_takers(*executable);
  executable->simple = executable->parts.size() == 1 && executable->parts[0].task == 0 &&
                       !executable->parts[0].blocking;
  return executable;
}

void TaskSession::add_part(Executable& executable, Plan& plan, size_t number) {
  Segment& segment = plan.segments[number];
  Executable::Part part;
  part.task = segment.task;
  part.inputs = segment.inputs;
  part.blocking = segment.blocking;
  part.label = label_of(segment);
  part.waits_for = int(segment.after.size());
  part.outputs = int(segment.piece.outputs.size());
  for (int before : segment.after) executable.parts[size_t(before)].next.push_back(int(number));
  if (segment.task == 0) {
    part.program = Program::make(std::move(segment.piece), task_, session_state_,
                                 options_of(plan, int(number)));
  } else {
    ship(segment, part);
  }
  executable.parts.push_back(std::move(part));
}

// The ops that may wait for others, else the task.
std::string TaskSession::label_of(const Segment& segment) const {
  const std::string& task = placement_.tasks[size_t(segment.task)];
  std::string ops;
  for (int id = 0; id < segment.piece.graph->size(); ++id) {
    const Node& node = segment.piece.graph->node(id);
    if (node.def().blocking)
      ops += fmt::format("{}{} '{}'", ops.empty() ? "" : ", ", node.op(), node.name());
  }
  return ops.empty() ? task : fmt::format("{} on {}", ops, task);
}

ProgramOptions TaskSession::options_of(const Plan& plan, int number) const {
  ProgramOptions options;
  options.on_tick = options_.on_wait;
  std::set<int> shown;
  for (const Segment& taker : plan.segments) {
    for (const Source& source : taker.inputs) {
      if (source.segment == number)
        (taker.task == 0 ? options.taken_later : shown).insert(source.index);
    }
  }
  adapt(options, plan, std::move(shown));
  return options;
}

RunResult TaskSession::run(Executable& executable, std::span<const Tensor> feeds,
                           const RunOptions& options) {
  const bool bounded = options.timeout_ms || options.cancellation;
  if (executable.simple && !bounded) return run_simple(executable, feeds);
  Conductor conductor(executable, feeds, remote(), options_, deadline_of(options));
  Guard closing(cancellation_, conductor, "the session is closed");
  std::optional<Guard> given_up;
  if (options.cancellation)
    given_up.emplace(*options.cancellation, conductor, "the run was given up");
  return conductor.run();
}

RunResult TaskSession::run_simple(Executable& executable, std::span<const Tensor> feeds) {
  Executable::Part& part = executable.parts[0];
  std::vector<Tensor> inputs;
  inputs.reserve(part.inputs.size());
  for (const Source& s : part.inputs) inputs.push_back(feeds[size_t(s.index)]);
  ProgramResult result = part.program->run(inputs, cancellation_);
  RunResult out;
  out.values.reserve(executable.fetches.size());
  for (const Source& s : executable.fetches) {
    out.values.push_back(s.segment < 0 ? feeds[size_t(s.index)] : result.outputs[size_t(s.index)]);
  }
  out.lease = std::move(result.frame);
  return out;
}

void TaskSession::reset(const std::vector<std::string>& containers) {
  task_->variables.reset(containers);
  task_->resources.reset(containers);
}

void TaskSession::close() { cancellation_.cancel(); }

}  // namespace capstan
