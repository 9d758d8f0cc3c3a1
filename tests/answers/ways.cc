#include "answers/ways.h"

#include "base/files.h"
#include "plan/plan.h"

namespace capstan {

std::string Way::text() const {
  constexpr std::string_view kForesight[] = {"given", "declared", "no"};
  return fmt::format("{} shapes, {}, {}, {}, {} threads", kForesight[size_t(foresight)],
                     fuse ? "fused" : "not fused", fold ? "folded" : "not folded",
                     in_place ? "in place" : "not in place", threads);
}

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (Foresight foresight : {Foresight::kGiven, Foresight::kDeclared, Foresight::kNothing}) {
    for (int bits = 0; bits < 8; ++bits) {
      for (int threads : {1, 2, 8})
        ways.push_back({foresight, !(bits & 1), !(bits & 2), !(bits & 4), threads});
    }
  }
  return ways;
}

struct Runner::Part {
  std::shared_ptr<Program> program;
  std::vector<Source> inputs;
};

std::shared_ptr<TaskState> Runner::task(int threads) {
  std::shared_ptr<TaskState>& task = tasks_[threads];
  if (!task) {
    task = std::make_shared<TaskState>("/job:localhost/task:0", threads, posix_files(), best_isa());
  }
  return task;
}

std::string Runner::differs(Question& question, const Way& way) {
  std::shared_ptr<TaskState> state = task(way.threads);
  state->variables.reset({});
  auto session = std::make_shared<SessionState>();
  ProgramOptions options;
  options.rest = true;
  options.foresight = way.foresight;
  options.fuse = way.fuse, options.fold = way.fold, options.in_place = way.in_place;
  std::string wrong;
  try {
    PlanRequest request{{}, question.fetches, {}};
    for (const auto& [output, value] : question.feeds) request.feeds.push_back(output);
    Plan plan = make_plan(question.graph, request, {});
    std::vector<Part> parts;
    for (Segment& s : plan.segments)
      parts.push_back({Program::make(std::move(s.piece), state, session, options), s.inputs});
    wrong = run_once(question, plan, parts, *state, *session);
    if (wrong.empty()) wrong = run_once(question, plan, parts, *state, *session);
  } catch (const Error& e) {
    wrong = e.what();
  }
  return wrong.empty() ? wrong : fmt::format("{}: {}", way.text(), wrong);
}

std::string Runner::run_once(Question& question, const Plan& plan, std::vector<Part>& parts,
                             TaskState& task, SessionState& session) {
  for (const auto& [variable, value] : question.variables) {
    task.variables.get("", variable.node->name(), value.dtype())
        ->assign(value, *task.variable_memory);
  }
  session.random_counters.clear();
  Cancellation cancellation;
  std::vector<ProgramResult> results;
  auto value_of = [&](const Source& s) {
    return s.segment < 0 ? question.feeds[size_t(s.index)].second
                         : results[size_t(s.segment)].outputs[size_t(s.index)];
  };
  for (Part& part : parts) {
    std::vector<Tensor> inputs;
    for (const Source& s : part.inputs) inputs.push_back(value_of(s));
    results.push_back(part.program->run(inputs, cancellation));
  }
  std::vector<Tensor> values;
  for (const Source& s : plan.fetches) values.push_back(value_of(s));
  return question.difference(values);
}

}  // namespace capstan
