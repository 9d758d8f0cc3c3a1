#include "jobs/job_view.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "jobs/json_text.h"
#include "jobs/report_table.h"
#include "jobs/text_table.h"

namespace capstan::jobs {
namespace {

constexpr size_t kCurveHeight = 8, kCurveWidth = 80;

// From others, and for one line.
std::string plain(std::string_view text) { return printable(text.substr(0, text.find('\n'))); }

std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.5g}", *loss) : "-";
}

std::string step_text(const Progress& progress) {
  if (progress.step == 0) return "-";
  return progress.last_step > 0 ? fmt::format("{}/{}", progress.step, progress.last_step)
                                : std::to_string(progress.step);
}

double lasted(const JobRecord& record, double now) {
  const double end = record.done() ? record.wall(record.state.ended) : now;
  return std::max(0.0, end - double(record.created));
}

Row row_of(const ShelvedJob& job, double now) {
  if (!job.record) return {job.id, "-", job.state(), "-", "-", "-", "-", plain(job.problem)};
  const JobRecord& record = *job.record;
  const Progress progress = progress_of(record);
  return {job.id,
          plain(record.name),
          job.state(),
          std::to_string(record.state.tasks.size()),
          step_text(progress),
          loss_text(progress.loss),
          duration_text(lasted(record, now)),
          record.done() ? plain(record.reason) : ""};
}

std::string rate_text(double steps_per_second) {
  return steps_per_second > 0 ? fmt::format("{:.1f}", steps_per_second) : "-";
}

std::string end_of(const ShelvedJob& job, const TaskReport& task) {
  if (task.state == TaskState::kFailed) return end_text(task);
  const std::string state = job.state();
  if (!task.done() && state == "lost") return state;  // nobody wrote down how it ended
  constexpr const char* kNames[] = {"waiting", "running", "ok", "failed", "stopped"};
  return kNames[size_t(task.state)];
}

std::string why_again(const TaskReport& task) {
  return task.attempts.empty() ? "" : "after " + plain(task.attempts.back().why);
}

Row task_row(const ShelvedJob& job, const TaskReport& task, const MemoryOf& memory_of) {
  // The process of a job that is not watched here is another one by now.
  const bool runs = task.state == TaskState::kRunning;
  const bool here = job.alive && !job.elsewhere;
  const int64_t memory = !runs ? task.peak_memory : here ? memory_of(task.pid) : 0;
  return {task.task.name(),
          task.port ? fmt::format("{}:{}", task.host, task.port) : "-",
          end_of(job, task),
          std::to_string(task.attempt),
          step_text(task.progress),
          loss_text(task.progress.loss),
          rate_text(runs && job.alive ? task.steps_per_second : 0),
          memory > 0 ? human_bytes(memory) : "-",
          why_again(task)};
}

std::string state_line(const ShelvedJob& job, double now) {
  const JobRecord& record = *job.record;
  std::string text = fmt::format("{} {} {}", job.state(), job.alive ? "for" : "after",
                                 duration_text(lasted(record, now)));
  const Progress progress = progress_of(record);
  if (progress.step > 0) text += fmt::format(", step {}", step_text(progress));
  if (progress.loss) text += fmt::format(", loss {}", loss_text(progress.loss));
  if (job.alive && record.steps_per_second > 0)
    text += fmt::format(", {:.1f} steps/s", record.steps_per_second);
  return text;
}

void add_lines(std::string& out, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) out += line + "\n";
}

}  // namespace

std::string jobs_table(const std::vector<ShelvedJob>& jobs, double now, size_t columns) {
  std::vector<Row> rows = {{"id", "name", "state", "tasks", "step", "loss", "time", "why"}};
  for (const ShelvedJob& job : jobs) rows.push_back(row_of(job, now));
  std::string out;
  add_lines(out, text_table(rows, columns));
  return out;
}

std::string job_line_json(const ShelvedJob& job, double now) {
  JsonObject json;
  json.add("id", job.id).add("state", job.state());
  if (!job.record) return json.add("problem", job.problem).text();
  const JobRecord& record = *job.record;
  const Progress progress = progress_of(record);
  json.add("name", record.name).add("created", record.created).add("seconds", lasted(record, now));
  json.add("tasks", record.state.tasks.size()).add("step", progress.step);
  json.add_json("loss", progress.loss ? fmt::format("{}", *progress.loss) : "null");
  if (record.done()) json.add("exit_code", record.exit_code).add("reason", record.reason);
  return json.text();
}

std::string status_text(const ShelvedJob& job, double now, size_t columns,
                        const MemoryOf& memory_of) {
  const JobRecord& record = *job.record;
  std::vector<Row> head = {{"job", fmt::format("{} ({})", job.id, plain(record.name))},
                           {"state", state_line(job, now)}};
  if (!record.reason.empty()) head.push_back({"why", plain(record.reason)});
  const TaskReport* cause = nullptr;
  for (const TaskReport& task : record.state.tasks) {
    if (task.task.name() == record.cause) cause = &task;
  }
  if (cause && !cause->error.empty()) head.push_back({"error", plain(cause->error)});
  head.push_back({"command", plain(fmt::format("{}", fmt::join(record.command, " ")))});
  if (!record.cluster.empty()) head.push_back({"ran in", plain(record.cluster)});
  if (record.cluster.empty()) head.push_back({"folder", plain(record.cwd)});
  if (!record.log_dir.empty()) head.push_back({"logs", plain(record.log_dir)});
  std::string out;
  add_lines(out, text_table(head, columns));
  std::vector<Row> rows = {{"task", "address", "state", "attempt", "step", "loss", "steps/s",
                            "memory", "started again"}};
  for (const TaskReport& task : record.state.tasks) rows.push_back(task_row(job, task, memory_of));
  out += "\n";
  add_lines(out, text_table(rows, columns));
  const size_t width = columns > 0 ? columns : kCurveWidth;
  const std::string curve = loss_curve(record.curve, width, kCurveHeight);
  return curve.empty() ? out : out + "\n" + curve;
}

std::string status_json(const ShelvedJob& job) {
  JsonObject json;
  json.add("id", job.id).add("state", job.state()).add("alive", job.alive);
  if (!job.record) return json.add("problem", job.problem).text();
  return json.add_json("record", to_json(*job.record)).text();
}

}  // namespace capstan::jobs
