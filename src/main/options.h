#pragma once

// What the command line asked for. cli.cc fills these; the commands take them as plain data.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/job_spec.h"
#include "jobs/k8s/kube_config.h"
#include "jobs/report.h"

namespace capstan::cli {

struct PythonOptions {
  std::string python;                // --python, or empty
  std::vector<std::string> resolve;  // name[:port]=address[:port]
  std::vector<std::string> args;     // script and its arguments, or -c / -m …
};

struct RunOptions {
  jobs::JobSpec job;
  std::string python;
  std::string log_dir;
  bool json = false;
  bool quiet = false;
  bool detach = false;
};

// How a job of this machine is run and shown.
struct LocalRun {
  std::string log_dir;
  bool json = false;
  bool quiet = false;
  bool detach = false;
  jobs::JobObserver* also = nullptr;  // is told of what happens, unless the job is detached
  // What is said after the result, in a job that is waited for.
  std::function<std::string(const jobs::JobReport& report)> last_words;
};

struct ValidateOptions {
  std::vector<std::string> files;  // "-": standard input
  std::string cluster_domain;
  bool json = false;
  bool quiet = false;
  bool print_crd = false;
};

// Where a job is, or is to be: main/where.h.
struct Where {
  bool local = false;
  jobs::k8s::KubeChoice cluster;
  bool all_spaces = false;

  bool names_cluster() const {
    return !cluster.path.empty() || !cluster.context.empty() || !cluster.space.empty() ||
           all_spaces;
  }
};

struct ApplyOptions {
  std::vector<std::string> files;
  Where where;
  bool dry_run = false;
  bool follow = false;
  std::vector<std::string> images;  // NAME=PROGRAM
  std::vector<std::pair<std::string, std::string>> env;
  std::string python;
  std::string log_dir;
  bool json = false;
  bool quiet = false;
  bool detach = false;
};

struct SqlOptions {
  std::string file;  // "-": standard input
  std::string text;  // -e
  std::vector<std::pair<std::string, std::string>> variables;
  std::string output = "table";  // or json, csv
  std::string root;
  std::string python;
  bool allow_shell = false;
  bool quiet = false;
};

struct OperatorOptions {
  std::string kubeconfig, context;
  std::string space;  // empty: all
  bool leader_elect = false;
  std::string lease_space;
  std::string gang_scheduler;
  std::string domain;
  bool take_over = false;
};

struct JobsOptions {
  std::vector<std::string> jobs;  // ids, names, or their beginnings
  Where where;
  bool json = false;
  bool yaml = false;
};

struct LogsOptions {
  std::string job;
  std::string task;  // "worker/0"; empty: all
  Where where;
  bool follow = false;
  int tail = -1;  // lines of each task; -1: all
};

struct WaitOptions {
  std::vector<std::string> jobs;
  Where where;
  std::string condition = "ended";
  double timeout = 0;  // seconds; 0: none
};

struct ScaleOptions {
  std::string job;
  std::vector<std::pair<std::string, int>> replicas;  // type to number
  Where where;
};

struct DeleteOptions {
  std::vector<std::string> jobs;
  Where where;
  bool keep_logs = true;
  bool wait = true;
};

struct ServerOptions {
  std::string cluster;  // JSON: {"ps": ["host:port"], "worker": [...]}
  std::string job;
  int task = 0;
};

struct DoctorOptions {
  std::string python;
  bool json = false;
};

int run_python(const PythonOptions& options);
int run_job(const RunOptions& options);
// Returns the exit code. `job` is complete.
int run_here(const jobs::JobSpec& job, const LocalRun& how);
int validate_files(const ValidateOptions& options);
int apply_files(const ApplyOptions& options);
int run_sql(const SqlOptions& options);
int run_operator(const OperatorOptions& options);
int run_server(const ServerOptions& options);
int show_jobs(const JobsOptions& options);
int show_status(const JobsOptions& options);
int show_logs(const LogsOptions& options);
int stop_jobs(const JobsOptions& options);
int remove_jobs(const JobsOptions& options);
int delete_jobs(const DeleteOptions& options);
int wait_for_jobs(const WaitOptions& options);
int scale_jobs(const ScaleOptions& options);
int suspend_jobs(const JobsOptions& options);
int resume_jobs(const JobsOptions& options);
int print_completion(const std::string& shell);
// What the last of the words of a command line may be, options aside; not cut to its beginning yet.
std::vector<std::string> words_for(const std::vector<std::string>& words);
int run_doctor(const DoctorOptions& options);

}  // namespace capstan::cli
