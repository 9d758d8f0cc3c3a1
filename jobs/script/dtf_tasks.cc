#include "jobs/script/dtf_tasks.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "jobs/json_text.h"
#include "jobs/task_spec.h"

namespace capstan::script {
namespace {

void put_int(std::string& out, size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(char((value >> shift) & 0xff));
}

void put_text(std::string& out, const std::string& text) {
  if (text.size() > size_t(INT32_MAX)) throw invalid_argument("a parameter of more than 2 GB");
  put_int(out, text.size());
  out += text;
}

// Lists by task index, as the cluster has them.
std::string cluster_spec(const jobs::Cluster& cluster) {
  jobs::JsonObject jobs;
  for (const char* wanted : {"worker", "ps"}) {
    auto found = std::ranges::find(cluster, wanted, &jobs::Cluster::value_type::first);
    const bool there = found != cluster.end();
    jobs.add_json(wanted, there ? jobs::json_strings(found->second) : "[]");
  }
  return jobs.text();
}

}  // namespace

std::string DtfPlan::run_folder(const jobs::TaskId& task) const {
  return join_path(folder, "run/" + task.job + "-" + std::to_string(task.index));
}

std::string DtfPlan::model_folder(int worker) const {
  return worker == chief ? chief_model : join_path(folder, "models/" + std::to_string(worker));
}

KeyValues task_parameters(const DtfPlan& plan, const jobs::Cluster& cluster,
                          const jobs::TaskId& task) {
  KeyValues all = plan.parameters;
  const std::string role =
      jobs::JsonObject().add("jobName", task.job).add("taskIndex", task.index).text();
  all.emplace_back("roleSpec", role);
  all.emplace_back("clusterSpec", cluster_spec(cluster));
  if (task.job == "worker") {
    all.emplace_back("tempDataLocalPath", plan.shards.at(size_t(task.index)).path);
    all.emplace_back("tempModelLocalPath", plan.model_folder(task.index));
  }
  return all;
}

std::string framed(const KeyValues& parameters) {
  std::string out;
  put_int(out, parameters.size());
  for (const auto& [key, value] : parameters) {
    put_text(out, key);
    put_text(out, value);
  }
  return out;
}

void lay_out_tasks(const DtfPlan& plan, jobs::JobSpec& spec) {
  if (plan.servers > 0) spec.groups.push_back({"ps", plan.servers});
  spec.groups.push_back({"worker", plan.workers});
  spec.program.path = plan.project.entry;
  spec.program.args = plan.project.arguments;
  posix_files().make_dirs(join_path(plan.folder, "models"));
  for (const jobs::TaskId& task : tasks_of(spec)) posix_files().make_dirs(plan.run_folder(task));
  spec.adjust = [plan](const jobs::Cluster& cluster, jobs::TaskSpec& task) {
    task.cwd = plan.run_folder(task.task);
    task.files = plan.project.files;
    task.input = framed(task_parameters(plan, cluster, task.task));
  };
}

}  // namespace capstan::script
