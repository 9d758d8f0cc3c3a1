#include "jobs/k8s/kept_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "jobs/k8s/cluster_jobs.h"
#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/kube_time.h"
#include "jobs/local/log_reader.h"
#include "jobs/local/task_log.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr uint64_t kLargestLog = 32 << 20;  // bytes, as of jobs in the background
constexpr double kBegin = 1;   // on the clock of a record, whose zero means that it never was
constexpr int kStopped = 143;  // what a job ends with that somebody stopped

const json& main_container(const json& pod) {
  static const json kNone;
  for (const json& one : list_at(at(pod, "spec"), "containers")) {
    if (text_at(one, "name") == kMainContainer) return one;
  }
  return kNone;
}

// What ran: its command and arguments, or the image that knows them.
std::vector<std::string> command_of(const std::vector<json>& pods) {
  std::vector<std::string> words;
  if (pods.empty()) return words;
  const json& container = main_container(pods.front());
  if (list_at(container, "command").empty()) words.push_back(text_at(container, "image"));
  for (const char* name : {"command", "args"}) {
    for (const json& word : list_at(container, name)) {
      if (word.is_string()) words.push_back(word.get<std::string>());
    }
  }
  return words;
}

TaskReport report_of(const json& pod, double created) {
  const PodSeen seen = see_pod(pod);
  TaskReport task{.task = *seen.task, .host = text_at(at(pod, "spec"), "nodeName")};
  const auto on_record = [&](double time) { return kBegin + std::max(0.0, time - created); };
  task.attempt = seen.attempt + seen.restarts;
  task.state = seen.started > 0 ? TaskState::kRunning : TaskState::kWaiting;
  if (seen.started > 0) task.started = on_record(seen.started);
  if (!has_ended(seen)) return task;
  task.exit_code = seen.exit_code.value_or(seen.phase == PodPhase::kFailed ? 1 : 0);
  task.signal = task.exit_code > kExitSignalBase ? task.exit_code - kExitSignalBase : 0;
  task.state = task.exit_code == 0 ? TaskState::kSucceeded : TaskState::kFailed;
  if (seen.ended <= 0) return task;
  task.ended = on_record(seen.ended);
  task.seconds = std::max(0.0, seen.ended - seen.started);
  return task;
}

void set_end(JobRecord& record, const TfJobStatus& status, double seconds) {
  record.state.ended = kBegin + std::max(0.0, seconds);
  if (status.is(JobPhase::kSucceeded)) return;
  if (const Condition* failed = status.condition(JobPhase::kFailed); failed && failed->is) {
    record.exit_code = kExitFailure;
    record.reason = failed->message;
    return;
  }
  record.exit_code = kStopped;
  record.reason = "was stopped or deleted";
  record.state.stop = StopReason{.at = record.state.ended, .exit_code = kStopped};
  for (TaskReport& task : record.state.tasks) {
    if (task.state == TaskState::kRunning) task.state = TaskState::kStopped;
  }
}

// A log whose file cannot be written is lost, and that is said; the job goes all the same.
class LogFiles {
 public:
  explicit LogFiles(std::string folder) : folder_(std::move(folder)) {}
  void add(const TaskId& task, std::string_view line) {
    auto& log = logs_[task];
    if (!log) {
      const std::string path = join_path(folder_, log_file_name(task));
      log = std::make_unique<TaskLog>(
          path, [](std::string_view) {}, kLargestLog);
    }
    log->feed(std::string(line) + "\n");
  }

 private:
  const std::string folder_;
  std::map<TaskId, std::unique_ptr<TaskLog>> logs_;
};

}  // namespace

std::string kept_id(const json& job, const std::vector<json>& pods) {
  const std::string uid = text_at(at(job, "metadata"), "uid");
  uint32_t sum = crc32c(uid);
  for (const json& pod : pods) sum = crc32c_extend(sum, text_at(at(pod, "metadata"), "uid"));
  return fmt::format("{:04x}{:08x}", crc32c(uid) & 0xffff, sum);
}

JobRecord kept_record(const json& job, const std::vector<json>& pods, const std::string& server,
                      double now) {
  const json& metadata = at(job, "metadata");
  const TfJobStatus status = seen_status(job);
  const auto time = [](const std::string& text, double otherwise) {
    return parse_kube_time(text).value_or(otherwise);
  };
  const double created = time(status.started, time(text_at(metadata, "creationTimestamp"), now));
  JobRecord record{.id = kept_id(job, pods), .name = text_at(metadata, "name")};
  record.command = command_of(pods);
  record.cluster = fmt::format("namespace {} of {}", text_at(metadata, "namespace"), server);
  record.created = int64_t(created);
  record.detached = true;
  record.state.started = kBegin;
  for (const json& pod : pods) record.state.tasks.push_back(report_of(pod, created));
  set_end(record, status, time(status.completed, now) - created);
  return record;
}

std::optional<std::string> keep_job(ClusterClient& client, const json& job,
                                    const std::vector<json>& pods, const std::string& server,
                                    JobShelf& shelf) {
  JobRecord record = kept_record(job, pods, server, wall_time());
  try {
    const Fd ours = shelf.create(record.id);
    record.log_dir = shelf.log_folder(record.id);
    posix_files().make_dirs(record.log_dir);
    LogFiles files(record.log_dir);
    const int read = read_logs(client, pods, {}, [&](const TaskId& task, std::string_view line) {
      files.add(task, line);
    });
    if (read > 0) shelf.write(record);
    if (read == 0) shelf.remove(record.id);
    if (read == 0) return std::nullopt;
  } catch (const Error& error) {
    client.say(fmt::format("the logs are not kept: {}", error.message()));
    return std::nullopt;
  }
  shelf.prune();
  return record.id;
}

}  // namespace capstan::jobs::k8s
