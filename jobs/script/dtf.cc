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
#include "jobs/scratch_folder.h"
#include "jobs/script/dtf_result.h"
#include "jobs/script/dtf_tasks.h"
#include "jobs/script/dtf_watch.h"
#include "jobs/script/model_draft.h"
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
  plan.parameters = call.options.below("fitParam.0.");
  plan.parameters.emplace_back("PY_EXECUTE_USER", call.session.owner);
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

std::optional<double> timeout_of(const AlgorithmCall& call) {
  if (!call.options.has("timeout")) return std::nullopt;
  const double seconds = call.options.number("timeout");
  if (seconds > 0) return seconds;  // and is a number
  throw error_at(call.options.place_of("timeout"), Code::kInvalidArgument,
                 fmt::format("option timeout is \"{}\"; it must be seconds above 0",
                             call.options.text("timeout")));
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
  spec.timeout_seconds = timeout_of(call);
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
               {"group", info.run()},
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

// One run, which is a job of the same id, and what it has while it lasts.
class Training {
 public:
  Training(const AlgorithmCall& call, DtfPlan plan)
      : call_(call), plan_(std::move(plan)), info_(run_, now_in_seconds()) {
    plan_.parameters.emplace_back("groupId", run_);
  }

  // Whatever happens, the tables say what became of each task.
  jobs::JobReport run() {
    try {
      jobs::JobReport report = run_job(prepare());
      leave_tables(result_rows(report.tasks));
      return report;
    } catch (...) {
      const Error error = current_error();
      leave_tables(result_rows(plan_));
      throw Error(error);
    }
  }

  void publish() {
    draft_->write_meta("model.json", meta_json(call_, plan_, info_));
    draft_->write_meta("training_info.json", info_.to_json());
    const auto version = draft_->publish(call_.options.flag("keepVersion"));
    call_.session.listener.note(
        version ? fmt::format("model: {}", version->folder)
                : fmt::format("worker/{} wrote nothing to output_model_dir(): no model is "
                              "published",
                              plan_.chief));
  }

 private:
  void make_folder() {
    const std::string parent = jobs::temporary_parent();
    if (!call_.options.flag("keepFiles")) {
      plan_.folder = folder_.emplace(parent, "sql-", run_, call_.session.keeper).path();
      return;
    }
    plan_.folder = join_path(parent, "kept-" + run_);
    call_.session.listener.note("keepFiles: " + plan_.folder);
  }

  void make_draft() {
    const std::string path = call_.session.paths.file(call_.path, call_.place);
    if (!call_.options.flag("keepVersion")) check_replaceable(path);
    draft_.emplace(path, run_, plan_.chief, call_.options.flag("resume"), call_.session.keeper);
    plan_.chief_model = draft_->model();
  }

  jobs::JobSpec prepare() {
    plan_.project = dtf_project(call_);
    check_capacity(call_, plan_);
    make_folder();
    make_draft();
    write_data(call_, plan_);
    jobs::JobSpec spec = spec_of(call_, plan_);
    spec.id = run_;
    say_resume(call_, *draft_);
    return spec;
  }

  void write_info(const TrainingInfo& so_far) {
    try {
      draft_->write_meta("training_info.json", so_far.to_json());
    } catch (const Error& error) {  // the training is worth more than its record
      call_.session.listener.note("training_info: " + error.message());
    }
  }

  jobs::JobReport run_job(const jobs::JobSpec& spec) {
    DtfWatch watch(call_.session, info_, [this](const TrainingInfo& now) { write_info(now); });
    try {
      return call_.session.jobs.run(spec, watch);
    } catch (const Error& error) {
      throw error_at(call_.place, error);
    }
  }

  // What goes wrong here does not hide why the training failed.
  void leave_tables(const Rows& result) try {
    call_.session.engine.resume();  // a stopped script still says how its training ended
    call_.session.engine.define(kTrainingInfo, info_.rows());
    call_.session.engine.define(call_.result, result);
  } catch (const Error& error) {
    call_.session.listener.note(error.message());
  }

  const AlgorithmCall& call_;
  const std::string run_ = jobs::random_hex(jobs::kJobIdBytes);
  DtfPlan plan_;
  TrainingInfo info_;
  std::optional<jobs::ScratchFolder> folder_;
  std::optional<ModelDraft> draft_;
};

}  // namespace

void dtf_train(const AlgorithmCall& call) {
  Training training(call, plan_of(call));
  const jobs::JobReport report = training.run();
  if (report.exit_code != 0) throw error_at(call.place, failure_of(report));
  training.publish();
}

}  // namespace capstan::script
