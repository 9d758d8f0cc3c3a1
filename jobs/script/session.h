#pragma once

// What a running script has: tables, variables, paths, the place where its training jobs run, and
// whoever listens. Nothing here knows a terminal.

#include <atomic>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/report.h"
#include "jobs/scratch_folder.h"
#include "jobs/script/engine.h"
#include "jobs/script/paths.h"
#include "jobs/script/variables.h"

namespace capstan::script {

// What training jobs need of wherever they run.
struct Capacity {
  int cores = 0;
  int64_t free_memory = 0;  // bytes
};

class JobRunner {
 public:
  virtual ~JobRunner() = default;
  virtual Capacity capacity() const = 0;
  // Runs the job to its end; nothing of it is left then. From any thread, stop() ends it in order.
  virtual jobs::JobReport run(const jobs::JobSpec& spec, jobs::JobObserver& observer) = 0;
  virtual void stop() = 0;
  // The interpreter for PYTHON_ENV: a venv, a conda environment, a path, or nothing. Throws
  // InvalidArgument for one whose Python version the extension does not fit. `said` gets a warning
  // where a name was not found (and where it was looked for).
  virtual std::string find_python(const std::string& env, bool required,
                                  const std::function<void(std::string_view)>& said) const = 0;
  virtual std::string python_path() const = 0;
};

class ScriptListener {
 public:
  virtual ~ScriptListener() = default;
  // The last table. Where all of it is asked for, it comes in several calls, from its first row on.
  virtual void result(const std::string& table, const Rows& rows) = 0;
  // A line of a task of a training job, or of the script layer itself.
  virtual void log(std::string_view line) = 0;
  virtual void note(std::string_view text) = 0;
  virtual void progress(std::string_view text) = 0;  // replaces the one before
};

// Of tables that nobody named.
constexpr std::string_view kFreshNamePrefix = "__table_";

class Session {
 public:
  Session(Engine& engine, JobRunner& jobs, Paths paths, ScriptListener& listener);

  Engine& engine;
  JobRunner& jobs;
  const Paths paths;
  ScriptListener& listener;
  std::string owner;  // the user's name
  std::string last_table;
  jobs::FolderKeeper* keeper = nullptr;  // of folders, if the process is killed
  std::string jobs_dir;                  // where `!show jobs` and `!kill` look: jobs/job_shelf.h
  bool allow_shell = false;              // `set x=`…` where type="shell"`
  std::function<std::time_t()> clock;    // for ${today} and its like
  // Those that outlive a script: `--set day=…`, and `set … where scope="session"`.
  Variables variables;
  // `connect jdbc where … as db1`, by "jdbc.db1".
  std::map<std::string, KeyValues> connections;

  // A name for a table that nobody named. `!show tables` leaves such tables out.
  std::string fresh_name();

  // From any thread: the statement that runs ends soon with Cancelled, and no other one begins.
  void stop();
  bool stopped() const { return stopped_; }

 private:
  int names_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace capstan::script
