#include "jobs/task_spec.h"

#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/files.h"

namespace capstan::jobs {
namespace {

std::vector<std::string> arguments(const JobSpec& job, const Cluster& cluster, const TaskId& task) {
  std::vector<std::string> argv;
  if (job.program.is_python()) argv.push_back(job.program.python);
  argv.push_back(job.program.path);
  for (const std::string& arg : job.program.args) argv.push_back(fill_template(arg, cluster, task));
  return argv;
}

std::map<std::string, std::string> environment(const JobSpec& job, const Cluster& cluster,
                                               const TaskId& task) {
  std::map<std::string, std::string> env = {{"PYTHONUNBUFFERED", "1"}};
  const bool python = job.program.is_python();
  if (python) env["PYTHONPATH"] = job.program.python_path;
  for (const auto& [name, value] : job.env) {
    const bool ours_first = name == "PYTHONPATH" && python;
    env[name] = ours_first ? job.program.python_path + ":" + value : value;
  }
  env["TF_CONFIG"] = tf_config(cluster, task);
  env["CAPSTAN_ROLE_FLAGS"] = role_flags(cluster, task);
  if (!job.resolve.empty()) env["CAPSTAN_RESOLVE"] = resolve_list(job, cluster);
  if (job.max_steps > 0) env["CAPSTAN_MAX_STEPS"] = std::to_string(job.max_steps);
  return env;
}

bool stays_inside(const std::filesystem::path& path) {
  if (path.empty() || path.is_absolute()) return false;
  const std::filesystem::path plain = path.lexically_normal();
  return *plain.begin() != ".." && plain.has_filename();
}

}  // namespace

TaskSpec task_spec(const JobSpec& job, const Cluster& cluster, const TaskId& task) {
  TaskSpec spec;
  spec.task = task;
  spec.argv = arguments(job, cluster, task);
  for (auto& entry : environment(job, cluster, task)) spec.env.push_back(std::move(entry));
  spec.restart = job.restart;
  spec.memory_limit = memory_limit(job, task.job);
  spec.secret = job.secret;
  if (job.adjust) job.adjust(cluster, spec);
  return spec;
}

void lay_out(const TaskSpec& spec, const std::string& folder) {
  for (const TaskFile& file : spec.files) {
    if (!stays_inside(file.path)) {
      throw invalid_argument("{}: the file {} would lie outside of the task's folder",
                             spec.task.name(), file.path);
    }
    const std::string path = join_path(folder, file.path);
    posix_files().make_dirs(dir_of(path));
    auto out = posix_files().create(path);
    out->append(file.bytes);
    out->close();
  }
}

}  // namespace capstan::jobs
