#include "jobs/script/dtf.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/version.h"
#include "jobs/random_hex.h"
#include "jobs/report_table.h"
#include "jobs/script/dtf_result.h"
#include "jobs/script/dtf_tasks.h"
#include "jobs/script/dtf_watch.h"
#include "jobs/script/model_draft.h"
#include "jobs/script/scratch_folder.h"
#include "jobs/script/session.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

using Json = nlohmann::json;

// What a task takes before it has done anything: interpreter, numpy, Capstan.
constexpr int64_t kTaskMemory = 60'000'000;
constexpr int kMostTasks = 1000;
constexpr const char* kTrainingInfo = "training_info";

double now_in_seconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// An option that has two names, of which the second is the older one.
template <class Value>
Value either(const AlgorithmCall& call, std::string_view name, std::string_view other,
             Value (Options::*get)(std::string_view) const) {
  const Options& options = call.options;
  const Value value = (options.*get)(options.has(name) ? name : other);
  if (options.has(name) && options.has(other) && (options.*get)(other) != value) {
    throw error_at(options.place_of(other), Code::kInvalidArgument,
                   fmt::format("{} and {} say different things", name, other));
  }
  return value;
}

std::string counted(int count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// A number of tasks, or the index of one.
int task_number(const AlgorithmCall& call, std::string_view option, int64_t value) {
  if (value <= kMostTasks) return int(value);
  throw error_at(call.options.place_of(option), Code::kInvalidArgument,
                 fmt::format("{} {}: no more than {} tasks", option, value, kMostTasks));
}

DtfPlan plan_of(const AlgorithmCall& call) {
  DtfPlan plan;
  plan.workers = call.session.engine.partitions(call.table);
  plan.servers =
      task_number(call, "fitParam.0.psNum",
                  either(call, "fitParam.0.psNum", "fitParam.0.ps.num", &Options::integer));
  plan.chief =
      task_number(call, "fitParam.0.chiefIndex", call.options.integer("fitParam.0.chiefIndex"));
  if (plan.chief >= plan.workers) {
    throw error_at(call.options.place_of("fitParam.0.chiefIndex"), Code::kInvalidArgument,
                   fmt::format("chiefIndex {}: {} from 0 on, one for each partition of {}",
                               plan.chief, counted(plan.workers, "worker"), call.table));
  }
  plan.project = dtf_project(call);
  plan.parameters = call.options.below("fitParam.0.");
  plan.parameters.emplace_back("PY_EXECUTE_USER", call.session.owner);
  plan.parameters.emplace_back("groupId", call.session.group_id);
  return plan;
}

void check_capacity(const AlgorithmCall& call, const DtfPlan& plan) {
  const Capacity has = call.session.jobs.capacity();
  const int tasks = plan.workers + plan.servers;
  const std::string wants =
      counted(plan.workers, "worker") + " and " + counted(plan.servers, "parameter server");
  if (has.free_memory < tasks * kTaskMemory) {
    throw error_at(
        call.place, Code::kResourceExhausted,
        fmt::format("{} need at least {} of memory ({} each), and {} are free; use fewer "
                    "partitions or servers",
                    wants, jobs::human_bytes(tasks * kTaskMemory), jobs::human_bytes(kTaskMemory),
                    jobs::human_bytes(has.free_memory)));
  }
  if (tasks > has.cores) {
    call.session.listener.note(fmt::format("{} share {}", wants, counted(has.cores, "core")));
  }
}

void write_data(const AlgorithmCall& call, DtfPlan& plan) {
  const std::string format =
      lower(either(call, "fileFormat", "fitParam.0.fileFormat", &Options::text));
  plan.shards = call.session.engine.write_shards(call.table, format, plan.folder + "/data");
  CAPSTAN_CHECK(plan.shards.size() == size_t(plan.workers));
  int64_t rows = 0;
  for (const Shard& shard : plan.shards) rows += shard.rows;
  if (rows == 0) {
    throw error_at(call.place, Code::kFailedPrecondition,
                   fmt::format("the table {} has no rows to train on", call.table));
  }
}

jobs::JobSpec spec_of(const AlgorithmCall& call, const DtfPlan& plan) {
  JobRunner& runner = call.session.jobs;
  jobs::JobSpec spec;
  spec.program.python =
      runner.find_python(call.options.text("PYTHON_ENV"), call.options.flag("requirePythonEnv"),
                         [&](std::string_view text) { call.session.listener.note(text); });
  spec.program.python_path = runner.python_path();
  spec.name = plan.project.entry.substr(0, plan.project.entry.rfind(".py"));
  spec.restarts = int(std::min<int64_t>(call.options.integer("restart"), INT32_MAX));
  if (call.options.has("timeout")) spec.timeout_seconds = call.options.number("timeout");
  lay_out_tasks(plan, spec);
  return spec;
}

void say_resume(const AlgorithmCall& call, const ModelDraft& draft) {
  if (!call.options.flag("resume")) return;
  const std::string found = draft.found();
  call.session.listener.note(
      found.empty() ? "resume: no earlier run left anything; training begins at the start"
                    : fmt::format("resume: goes on from {}, left by an earlier run in {}", found,
                                  draft.model()));
}

std::string meta_json(const AlgorithmCall& call, const DtfPlan& plan, const TrainingInfo& info) {
  Json parameters = Json::object(), schema = Json::array();
  for (const auto& [key, value] : call.options.all()) parameters[key] = value;
  for (const Column& column : call.session.engine.columns(call.table)) {
    schema.push_back({{"name", column.name}, {"type", column.type}});
  }
  int64_t rows = 0;
  for (const Shard& shard : plan.shards) rows += shard.rows;
  const TrainingPoint& last = info.last();
  Json metrics = {{"step", last.step},
                  {"loss", last.loss ? Json(*last.loss) : Json(nullptr)},
                  {"steps_per_second", last.steps_per_second}};
  Json json = {{"version", 1},
               {"algorithm", "DTF"},
               {"run", info.run()},
               {"group", call.session.group_id},
               {"owner", call.session.owner},
               {"statement", call.statement},
               {"parameters", parameters},
               {"table", call.table},
               {"schema", schema},
               {"rows", rows},
               {"workers", plan.workers},
               {"ps", plan.servers},
               {"chief", plan.chief},
               {"metrics", metrics},
               {"versions", {{"capstan", version()}}},
               {"started", info.started()},
               {"ended", now_in_seconds()}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void publish(const AlgorithmCall& call, const DtfPlan& plan, const TrainingInfo& info,
             ModelDraft& draft) {
  draft.write_meta("model.json", meta_json(call, plan, info));
  draft.write_meta("training_info.json", info.to_json());
  const auto version = draft.publish(call.options.flag("keepVersion"));
  call.session.listener.note(
      version ? fmt::format("model: {}", version->folder)
              : fmt::format("worker/{} wrote nothing to output_model_dir(): no model is published",
                            plan.chief));
}

// They are there whatever happens.
void leave_tables(const AlgorithmCall& call, const Rows& result, const TrainingInfo& info) {
  call.session.engine.define(kTrainingInfo, info.rows());
  call.session.engine.define(call.result, result);
}

jobs::JobReport run_job(const AlgorithmCall& call, const DtfPlan& plan, const jobs::JobSpec& spec,
                        TrainingInfo& info, ModelDraft& draft) {
  DtfWatch watch(call.session, info, [&](const TrainingInfo& so_far) {
    try {
      draft.write_meta("training_info.json", so_far.to_json());
    } catch (const Error& error) {  // the training is worth more than its record
      call.session.listener.note("training_info: " + error.message());
    }
  });
  try {
    return call.session.jobs.run(spec, watch);
  } catch (const Error& error) {
    leave_tables(call, result_rows(plan), info);
    throw error_at(call.place, error);
  }
}

void train_in(const AlgorithmCall& call, const std::string& run, DtfPlan& plan) {
  const std::string path = call.session.paths.file(call.path, call.place);
  if (!call.options.flag("keepVersion")) check_replaceable(path);
  ModelDraft draft(path, run, plan.chief, call.options.flag("resume"));
  plan.chief_model = draft.model();
  write_data(call, plan);
  jobs::JobSpec spec = spec_of(call, plan);
  spec.scratch = {draft.scratch()};
  if (!call.options.flag("keepFiles")) spec.scratch.push_back(plan.folder);
  say_resume(call, draft);
  TrainingInfo info(run, now_in_seconds());
  const jobs::JobReport report = run_job(call, plan, spec, info, draft);
  const Rows result = result_rows(report.tasks);
  if (report.exit_code != 0) {
    leave_tables(call, result, info);
    throw error_at(call.place, failure_of(report));
  }
  publish(call, plan, info, draft);
  leave_tables(call, result, info);
}

}  // namespace

void dtf_train(const AlgorithmCall& call) {
  DtfPlan plan = plan_of(call);
  check_capacity(call, plan);
  const std::string run = jobs::random_hex(jobs::kJobIdBytes);
  const std::string parent = temporary_parent();
  std::optional<ScratchFolder> scratch;
  if (call.options.flag("keepFiles")) {
    plan.folder = join_path(parent, "kept-" + run);
    call.session.listener.note("keepFiles: " + plan.folder);
  } else {
    plan.folder = scratch.emplace(parent, "sql-", run).path();
  }
  train_in(call, run, plan);
}

}  // namespace capstan::script
