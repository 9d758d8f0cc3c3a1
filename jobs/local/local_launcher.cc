#include "jobs/local/local_launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/secret_fd.h"
#include "jobs/local/keeper.h"
#include "jobs/local/local_task.h"
#include "jobs/local/log_folder.h"

namespace capstan::jobs {
namespace {

// After the first failure the others may fail by themselves for a moment, so that the one that
// really came first can be told from its consequences.
constexpr double kSettle = 0.25;
constexpr double kChiefless = 1.0;
constexpr int kTickMilliseconds = 200;
constexpr int kStoppingMilliseconds = 20;

template <size_t kBytes>
std::string random_hex() {
  std::array<unsigned char, kBytes> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw internal_error("no random bytes: {}", std::strerror(errno));
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

// One run of one job, on one thread.
class LocalJob {
 public:
  LocalJob(const LocalOptions& options, const JobSpec& spec, JobObserver& observer, int wake_fd);
  JobReport run();

 private:
  void start_all();
  std::vector<std::string> arguments(const TaskId& task) const;
  std::vector<std::string> environment(const TaskId& task) const;
  void wait_for_events();
  void collect_ended();
  void look_for_the_end();
  void look_for_a_chief();
  std::string no_chief() const;
  std::string targets() const;
  void classify(LocalTask& task);
  void read_signals();
  void stop_because(std::string reason, int exit_code, double delay);
  void enforce();
  template <class Which>
  bool any_running(Which which) const;
  template <class Which>
  void ask_to_stop(Which which, double grace);
  void pick_cause(JobReport& report) const;
  JobReport make_report();

  const LocalOptions& options_;
  const JobSpec& spec_;
  JobObserver& observer_;
  const int wake_fd_;
  // For all to see: what is left of the job is found by it.
  const std::string mark_ = "CAPSTAN_JOB_ID=" + random_hex<16>();
  const Fd secret_ = secret_as_fd(random_hex<32>());
  LogFolder logs_;
  std::vector<std::unique_ptr<LocalTask>> tasks_;
  Cluster cluster_;
  double started_ = 0;
  double trainers_ended_ = 0;  // 0: some still run
  double stop_at_ = 0;         // 0: nothing stops us
  double chiefless_ = 0;       // since when all trainers wait for a chief; 0: they do not
  std::string stop_reason_;
  int stop_code_ = 0;  // 0: the cause's own
  bool signalled_ = false, at_once_ = false, said_waiting_ = false,
       said_standing_ = false;
};

bool only_serves(const LocalTask& task) { return task.only_serves(); }
bool is_server(const LocalTask& task) { return task.role() == Role::kServer; }
bool is_trainer(const LocalTask& task) { return task.role() == Role::kTrainer; }
bool is_evaluator(const LocalTask& task) { return task.role() == Role::kEvaluator; }

LocalJob::LocalJob(const LocalOptions& options, const JobSpec& spec, JobObserver& observer,
                   int wake_fd)
    : options_(options),
      spec_(spec),
      observer_(observer),
      wake_fd_(wake_fd),
      logs_(options.log_dir) {
  for (const TaskId& id : tasks_of(spec)) {
    tasks_.push_back(std::make_unique<LocalTask>(id, logs_.file_for(id), observer));
  }
  for (const TaskGroup& group : spec.groups) {
    std::vector<std::string> addresses;
    for (const auto& task : tasks_) {
      if (task->report.task.job != group.job || is_evaluator(*task)) continue;
      addresses.push_back(fmt::format("{}:{}", task->report.host, task->report.port));
    }
    if (!addresses.empty()) cluster_.emplace_back(group.job, std::move(addresses));
  }
}

std::vector<std::string> LocalJob::arguments(const TaskId& task) const {
  std::vector<std::string> argv;
  if (spec_.program.is_python()) argv.push_back(spec_.program.python);
  argv.push_back(spec_.program.path);
  for (const std::string& arg : spec_.program.args) {
    argv.push_back(fill_template(arg, cluster_, task));
  }
  return argv;
}

std::vector<std::string> LocalJob::environment(const TaskId& task) const {
  std::map<std::string, std::string> env;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text(*entry);
    size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  // Those of an outer job are not ours.
  for (const char* name : {"CAPSTAN_LISTEN_FD", "CAPSTAN_TASK_FD", "CAPSTAN_SECRET_FD",
                           "CAPSTAN_SECRET", "CAPSTAN_JOB_ID"}) {
    env.erase(name);
  }
  env["PYTHONUNBUFFERED"] = "1";
  if (spec_.program.is_python()) env["PYTHONPATH"] = spec_.program.python_path;
  for (const auto& [name, value] : spec_.env) {
    const bool ours_first = name == "PYTHONPATH" && spec_.program.is_python();
    env[name] = ours_first ? spec_.program.python_path + ":" + value : value;
  }
  env["TF_CONFIG"] = tf_config(cluster_, task);
  env["CAPSTAN_ROLE_FLAGS"] = role_flags(cluster_, task);
  auto servers = std::ranges::count_if(tasks_, [](const auto& t) { return is_server(*t); });
  env["CAPSTAN_WORKERS_ON_HOST"] =
      std::to_string(std::max(size_t{1}, tasks_.size() - size_t(servers)));
  if (!spec_.resolve.empty()) env["CAPSTAN_RESOLVE"] = resolve_list(spec_, cluster_);
  if (spec_.max_steps > 0) env["CAPSTAN_MAX_STEPS"] = std::to_string(spec_.max_steps);
  std::vector<std::string> entries;
  for (const auto& [name, value] : env) entries.push_back(name + "=" + value);
  entries.push_back(mark_);
  return entries;
}

JobReport LocalJob::run() {
  // Daemons that a task leaves behind become our children, and are found by their environment.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Keeper keeper(mark_);
  started_ = monotonic_seconds();
  start_all();
  while (any_running([](const LocalTask&) { return true; })) {
    wait_for_events();
    collect_ended();
    for (auto& task : tasks_) {
      if (!task->running()) continue;
      task->read_channel();
      task->read_output();
    }
    look_for_the_end();
    look_for_a_chief();
    read_signals();
    enforce();
    observer_.tick();
  }
  kill_processes_with(mark_);
  return make_report();
}

void LocalJob::start_all() {
  for (auto& task : tasks_) {
    task->start(arguments(task->report.task), environment(task->report.task), secret_.get());
  }
}

void LocalJob::wait_for_events() {
  std::vector<pollfd> fds = {{wake_fd_, POLLIN, 0}, {options_.signal_fd, POLLIN, 0}};
  for (auto& task : tasks_) {
    if (!task->running()) continue;
    fds.push_back({task->wait_fd(), POLLIN, 0});
    fds.push_back({task->output_fd(), POLLIN, 0});  // poll ignores -1
    fds.push_back({task->channel_fd(), POLLIN, 0});
  }
  poll(fds.data(), fds.size(), stop_at_ > 0 ? kStoppingMilliseconds : kTickMilliseconds);
}

void LocalJob::collect_ended() {
  for (auto& task : tasks_) {
    if (!task->running()) continue;
    pollfd ended{task->wait_fd(), POLLIN, 0};
    if (poll(&ended, 1, 0) != 1) continue;
    task->finish();
    classify(*task);
    observer_.ended(task->report);
  }
}

// The training is over when no trainer is at work; those that only serve are not, but for the time
// before anybody has trained.
void LocalJob::look_for_the_end() {
  auto works = [](const LocalTask& task) { return is_trainer(task) && !task.only_serves(); };
  if (trainers_ended_ > 0 || any_running(works)) return;
  bool trained = std::ranges::any_of(
      tasks_, [](const auto& task) { return is_trainer(*task) && task->has_trained(); });
  if (trained) {
    trainers_ended_ = monotonic_seconds();
  } else if (!std::exchange(said_standing_, true)) {
    observer_.note(fmt::format(
        "every worker only serves, for clients at {}; the job stands until it is stopped (Ctrl-C)",
        targets()));
  }
}

// Where everybody waits for a chief none of them is one, and nobody else will be.
void LocalJob::look_for_a_chief() {
  auto waits = [](const LocalTask& task) {
    return is_trainer(task) && task.waits_for() == "chief";
  };
  auto others = [&](const LocalTask& task) {
    return is_trainer(task) && !task.only_serves() && !waits(task);
  };
  double now = monotonic_seconds();
  if (stop_at_ > 0 || !any_running(waits) || any_running(others)) {
    chiefless_ = 0;
  } else if (chiefless_ == 0) {
    chiefless_ = now;
  } else if (now - chiefless_ > kChiefless) {
    stop_because(no_chief(), kExitFailure, 0);
  }
}

std::string LocalJob::no_chief() const {
  std::vector<std::string> waiting, ended;
  for (const auto& task : tasks_) {
    if (!is_trainer(*task) || task->only_serves()) continue;
    (task->running() ? waiting : ended).push_back(task->report.task.name());
  }
  std::string who = fmt::format("{} wait{} for a chief to initialise the model",
                                fmt::join(waiting, ", "), waiting.size() == 1 ? "s" : "");
  if (!ended.empty()) {
    return fmt::format("{}, but {} ended already and did not", who, fmt::join(ended, ", "));
  }
  return who +
         ", and none is the chief: is_chief must be true for one of them, as "
         "is_chief=(task_index == 0); a program whose chief is a job of its own needs --chief";
}

std::string LocalJob::targets() const {
  std::vector<std::string> out;
  for (const auto& task : tasks_) {
    if (is_trainer(*task))
      out.push_back(fmt::format("grpc://{}:{}", task->report.host, task->report.port));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

void LocalJob::classify(LocalTask& task) {
  bool stopping = stop_at_ > 0 && monotonic_seconds() >= stop_at_;
  if (task.asked_to_stop()) {
    // A server or evaluator that outstayed a good training is not at fault.
    task.report.state = stopping ? TaskState::kStopped : TaskState::kSucceeded;
  } else if (task.report.exit_code == 0) {
    task.report.state = TaskState::kSucceeded;
  } else {
    task.report.state = TaskState::kFailed;
    stop_because("", 0, kSettle);
  }
}

void LocalJob::read_signals() {
  uint64_t wakes = 0;
  if (read(wake_fd_, &wakes, sizeof wakes) == sizeof wakes) {
    stop_because("stopped on request", kExitSignalBase + SIGTERM, 0);
  }
  signalfd_siginfo info{};
  pollfd ready{options_.signal_fd, POLLIN, 0};
  while (poll(&ready, 1, 0) == 1 && read(ready.fd, &info, sizeof info) == sizeof info) {
    int signal = static_cast<int>(info.ssi_signo);
    at_once_ = at_once_ || stop_code_ != 0 || std::exchange(signalled_, true);
    std::string_view name = signal == SIGINT ? "Ctrl-C" : strsignal(signal);
    if (!at_once_) observer_.note(fmt::format("{}: stopping; once more to kill at once", name));
    stop_because(fmt::format("stopped by {}", name), kExitSignalBase + signal, 0);
  }
}

// The first reason stays; a failure that waits for its consequences does not hold back a Ctrl-C.
void LocalJob::stop_because(std::string reason, int exit_code, double delay) {
  double at = monotonic_seconds() + delay;
  if (stop_at_ > 0) {
    stop_at_ = std::min(stop_at_, at);
    return;
  }
  stop_at_ = at;
  stop_reason_ = std::move(reason);
  stop_code_ = exit_code;
}

template <class Which>
bool LocalJob::any_running(Which which) const {
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [&](const auto& task) { return task->running() && which(*task); });
}

template <class Which>
void LocalJob::ask_to_stop(Which which, double grace) {
  for (auto& task : tasks_) {
    if (which(*task)) task->ask_to_stop(monotonic_seconds(), at_once_ ? 0 : grace);
  }
}

void LocalJob::enforce() {
  double now = monotonic_seconds();
  if (spec_.timeout_seconds && now - started_ > *spec_.timeout_seconds) {
    stop_because(fmt::format("not done after {} s (--timeout)", *spec_.timeout_seconds),
                 kExitTimeout, 0);
  }
  if (stop_at_ > 0 && now >= stop_at_) {
    auto others = [](const LocalTask& task) { return !is_server(task); };
    ask_to_stop(others, options_.stop_grace);
    if (at_once_ || !any_running(others)) ask_to_stop(is_server, options_.stop_grace);
    return;
  }
  if (trainers_ended_ == 0 || stop_at_ > 0) return;
  double waited = now - trainers_ended_;
  if (waited > 5 && !said_waiting_) {
    said_waiting_ = true;
    observer_.note("all trainers have ended; waiting for the rest to end by itself");
  }
  if (waited > options_.serving_grace) ask_to_stop(only_serves, options_.stop_grace);
  if (waited > options_.server_grace) ask_to_stop(is_server, options_.stop_grace);
  if (waited > options_.evaluator_grace) ask_to_stop(is_evaluator, options_.stop_grace);
}

void LocalJob::pick_cause(JobReport& report) const {
  double first = 0;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    double time = tasks_[i]->failure_time();
    if (tasks_[i]->report.state != TaskState::kFailed || (report.cause && time >= first)) continue;
    report.cause = i;
    first = time;
  }
}

JobReport LocalJob::make_report() {
  JobReport report;
  pick_cause(report);
  report.reason = stop_reason_;
  report.exit_code = stop_code_;
  if (report.cause && stop_code_ == 0) {
    const LocalTask& cause = *tasks_[*report.cause];
    report.exit_code = cause.report.exit_code;
    report.reason = fmt::format("{} failed first, {} {}", cause.report.task.name(),
                                cause.report.signal ? "ended by" : "with", end_text(cause.report));
    report.last_lines = cause.last_lines();
  }
  if (report.exit_code != 0 || !options_.log_dir.empty()) report.log_dir = logs_.keep();
  for (const auto& task : tasks_) report.tasks.push_back(task->report);
  return report;
}

}  // namespace

LocalLauncher::LocalLauncher(LocalOptions options)
    : options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw resource_exhausted("eventfd: {}", std::strerror(errno));
}

JobReport LocalLauncher::run(const JobSpec& spec, JobObserver& observer) {
  check(spec);
  return LocalJob(options_, spec, observer, wake_.get()).run();
}

void LocalLauncher::stop() {
  uint64_t one = 1;
  // Cannot fail: the counter would have to be full.
  if (write(wake_.get(), &one, sizeof one) != sizeof one) return;
}

}  // namespace capstan::jobs
