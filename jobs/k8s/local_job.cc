#include "jobs/k8s/local_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/printable.h"
#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/local_env.h"
#include "jobs/k8s/quantity.h"
#include "jobs/task_spec.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

// What a replica runs here. Words still have $(NAME) in them: a task's variables may differ.
struct LocalReplica {
  ReplicaType type = ReplicaType::kWorker;
  std::vector<std::string> argv;
  std::string folder;
  std::vector<Variables> env;  // of each index
};

bool is_python(std::string_view program) {
  const size_t slash = program.rfind('/');
  std::string_view name = slash == program.npos ? program : program.substr(slash + 1);
  if (!name.starts_with("python")) return false;
  name.remove_prefix(6);
  return name.find_first_not_of("0123456789.") == name.npos;
}

std::vector<std::string> texts_at(const json& object, std::string_view name) {
  std::vector<std::string> out;
  for (const json& one : list_at(object, name)) {
    if (one.is_string()) out.push_back(one.get<std::string>());
  }
  return out;
}

class Planner {
 public:
  Planner(const TfJob& job, const LocalPlan& plan, std::vector<FieldError>& errors)
      : job_(job), plan_(plan), errors_(errors) {}

  LocalTfJob make() {
    LocalTfJob out{.spec = job_spec(job_)};
    for (const ReplicaSpec& replica : job_.replicas) {
      std::erase_if(out.spec.groups, [&](const TaskGroup& group) {
        return group.job == task_name(replica.type) && group.count == 0;
      });
      if (replica.replicas > 0) add(replica, out.spec);
    }
    note_what_is_left_out();
    set_program(out.spec);
    out.spec.at_end = AtEnd::kStop;
    out.spec.secret = SecretBy::kDescriptor;
    out.spec.adjust = adjuster(out.spec.adjust);
    out.notes = std::move(notes_);
    return out;
  }

 private:
  void add(const ReplicaSpec& replica, JobSpec& spec) {
    const json& containers = at(*replica.template_json, "spec", "containers");
    for (size_t i = 0; i < containers.size(); ++i) {
      if (text_at(containers[i], "name") != kMainContainer) {
        note(fmt::format("the container {} beside tensorflow is not run here",
                         printable(text_at(containers[i], "name"))));
        continue;
      }
      const std::string path = fmt::format("spec.tfReplicaSpecs[{}].template.spec.containers[{}]",
                                           type_name(replica.type), i);
      add_main(replica, containers[i], path, spec);
    }
    const json& pod = at(*replica.template_json, "spec");
    if (!list_at(pod, "initContainers").empty()) note("init containers are not run here");
    if (!list_at(pod, "volumes").empty()) {
      note("volumes are not mounted here: paths are those of this machine");
    }
  }

  void add_main(const ReplicaSpec& replica, const json& container, const std::string& path,
                JobSpec& spec) {
    const std::string name = text_at(container, "image");
    const LocalImage* image = find_image(plan_.images, name);
    if (!image) return no_image(name, path);
    LocalReplica local{.type = replica.type};
    local.argv = command(*image, container);
    if (local.argv.empty()) return no_command(*image, path);
    if (image->runs_there) local.folder = image->folder;
    for (int i = 0; i < replica.replicas; ++i) {
      std::vector<FieldError> wrong;
      local.env.push_back(container_env(pod_of(job_, replica, i, 1), container, plan_.env, path,
                                        i == 0 ? errors_ : wrong));
    }
    replicas_.push_back(std::move(local));
    limits(replica, container, spec);
    if (!list_at(container, "envFrom").empty()) {
      note("envFrom is left out here: give what is needed by --env NAME=VALUE");
    }
    if (!text_at(container, "workingDir").empty()) note("workingDir is left out here");
  }

  // Its own command, else the image's; arguments follow either.
  std::vector<std::string> command(const LocalImage& image, const json& container) const {
    std::vector<std::string> argv = texts_at(container, "command");
    for (std::string& word : argv) word = local_path(image, word);
    if (argv.empty()) argv = image.entry_point;
    for (const std::string& word : texts_at(container, "args")) {
      argv.push_back(local_path(image, word));
    }
    if (argv.empty()) return argv;
    if (is_python(argv[0])) argv[0] = plan_.python;
    if (argv[0].ends_with(".py")) argv.insert(argv.begin(), plan_.python);
    return argv;
  }

  // Once for each image, however many replicas have it.
  void no_image(const std::string& name, const std::string& path) {
    if (!unknown_.insert(name).second) return;
    errors_.push_back({path + ".image", "NotSupported",
                       fmt::format("nothing stands for the image {0} on this machine; say what it "
                                   "runs: --image '{0}=main.py', or a folder instead of main.py",
                                   printable(name))});
  }

  void no_command(const LocalImage& image, const std::string& path) {
    errors_.push_back({path + ".command", "Required",
                       fmt::format("says what is run in {}, which has no main.py", image.folder)});
  }

  void limits(const ReplicaSpec& replica, const json& container, JobSpec& spec) {
    const json& limits = at(container, "resources", "limits");
    if (!limits.is_object()) return;
    for (const auto& [name, amount] : limits.items()) {
      if (name == "memory") {
        const int64_t bytes = quantity_of(amount).value_or(0) / 1000;
        if (bytes > 0) spec.memory.push_back({std::string(task_name(replica.type)), bytes});
      } else if (name != "cpu") {
        note(fmt::format("{} of {} is left out here: processes have what this machine has",
                         printable(name), type_name(replica.type)));
      }
    }
  }

  void note_what_is_left_out() {
    if (job_.tensorboard) {
      note(fmt::format("TensorBoard is not started here: tensorboard --logdir {}",
                       printable(job_.tensorboard->log_dir)));
    }
    if (job_.suspend) note("suspend is left out here: the job runs");
    if (job_.clean_pods == CleanPods::kNone || job_.clean_pods == CleanPods::kPs) {
      note("processes do not outlive a job here: cleanPodPolicy is as if Running");
    }
  }

  void note(std::string text) {
    if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
  }

  // For the record: what the chief runs, or the first that there is.
  void set_program(JobSpec& spec) const {
    const LocalReplica* lead = nullptr;
    for (const LocalReplica& one : replicas_) {
      const bool trains = one.type != ReplicaType::kPs && one.type != ReplicaType::kEvaluator;
      if (!lead || (trains && lead->type != job_.replicas.front().type)) lead = &one;
    }
    if (!lead) return;
    const bool script = lead->argv.size() > 1 && lead->argv[0] == plan_.python;
    spec.program.path = lead->argv[script ? 1 : 0];
    spec.program.args.assign(lead->argv.begin() + (script ? 2 : 1), lead->argv.end());
    spec.program.python = plan_.python;
    spec.program.python_path = plan_.python_path;
  }

  using Adjust = std::function<void(const Cluster&, TaskSpec&)>;

  // The closure has copies of all: it may outlive us, in another process.
  Adjust adjuster(Adjust rules) const {
    return [job = job_, replicas = replicas_, python_path = plan_.python_path, rules](
               const Cluster& cluster, TaskSpec& task) {
      rules(cluster, task);
      for (const LocalReplica& replica : replicas) {
        if (task_name(replica.type) != task.task.job) continue;
        set_task(job, replica, python_path, cluster, task);
      }
    };
  }

  static std::string address(const Cluster& cluster, ReplicaType type, int index) {
    for (const auto& [name, addresses] : cluster) {
      if (name == task_name(type) && size_t(index) < addresses.size())
        return addresses[size_t(index)];
    }
    return "";
  }

  static void set_task(TfJob job, const LocalReplica& replica, const std::string& python_path,
                       const Cluster& cluster, TaskSpec& task) {
    job.evaluator_in_cluster = false;  // it has no port here
    std::map<std::string, std::string> env(task.env.begin(), task.env.end());
    env["PYTHONPATH"] = python_path;
    Variables own = replica.env.at(size_t(task.task.index));
    for (const auto& [name, value] : own) {
      env[name] = name == "PYTHONPATH" ? python_path + ":" + value : value;
    }
    env["TF_CONFIG"] = tf_config(
        job, replica.type, task.task.index,
        AddressOf([&](ReplicaType type, int index) { return address(cluster, type, index); }));
    own.emplace_back("TF_CONFIG", env["TF_CONFIG"]);
    task.env.assign(env.begin(), env.end());
    task.argv.clear();
    for (const std::string& word : replica.argv) task.argv.push_back(expand(word, own));
    task.cwd = replica.folder;
  }

  const TfJob& job_;
  const LocalPlan& plan_;
  std::vector<FieldError>& errors_;
  std::vector<LocalReplica> replicas_;
  std::vector<std::string> notes_;
  std::set<std::string> unknown_;
};

}  // namespace

LocalTfJob local_tf_job(const TfJob& job, const LocalPlan& plan, std::vector<FieldError>& errors) {
  return Planner(job, plan, errors).make();
}

}  // namespace capstan::jobs::k8s
