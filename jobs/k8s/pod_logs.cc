#include "jobs/k8s/pod_logs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jobs/k8s/cluster_jobs.h"
#include "jobs/k8s/job_objects.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr double kLastWords = 2;   // seconds for replicas that do not end with their job
constexpr double kTryAgain = 0.5;  // seconds after a log broke off

std::string query_of(const LogChoice& choice, bool follow) {
  std::string query = fmt::format("container={}", kMainContainer);
  if (follow) query += "&follow=true";
  if (choice.tail >= 0) query += fmt::format("&tailLines={}", choice.tail);
  return query;
}

// Its container has begun, and so there is a log.
bool has_log(const PodSeen& pod) { return pod.started > 0 || pod.exit_code || pod.restarts > 0; }

bool is_chosen(const PodSeen& pod, const LogChoice& choice) {
  return pod.task && (choice.task.empty() || pod.task->name() == choice.task);
}

class OneLog final : public LogFollower {
 public:
  OneLog(const TaskId& task, const OnTaskLine& on_line) : task_(task), on_line_(on_line) {}
  void line(std::string_view text) override { on_line_(task_, text); }
  void closed(const std::optional<Error>& why, int) override {
    over = true;
    error = why;
  }
  bool over = false;
  std::optional<Error> error;

 private:
  const TaskId task_;
  const OnTaskLine& on_line_;
};

void read_log(ClusterClient& client, const PodSeen& pod, const LogChoice& choice,
              const OnTaskLine& on_line) {
  OneLog log(*pod.task, on_line);
  const auto stream = client.api().read_log(pod.name, query_of(choice, /*follow=*/false), log);
  client.wait([&] { return log.over; }, 0,
              [&] { return "reading the log of " + pod.task->name(); });
  if (!log.error) return;
  if (log.error->code() == Code::kPermissionDenied) throw Error(*log.error);
  client.say(fmt::format("{}: {}", pod.task->name(), log.error->message()));
}

}  // namespace

int read_logs(ClusterClient& client, const std::vector<json>& pods, const LogChoice& choice,
              const OnTaskLine& on_line) {
  int read = 0;
  for (const json& pod : pods) {
    const PodSeen seen = see_pod(pod);
    if (!is_chosen(seen, choice) || !has_log(seen)) continue;
    read_log(client, seen, choice, on_line);
    ++read;
  }
  return read;
}

// One run of one container.
struct LogFollow::Stream final : LogFollower {
  Stream(LogFollow& all, PodSeen seen) : follow(all), pod(std::move(seen)) {}
  // After a break the log is read from its beginning; what has been told is passed over.
  void line(std::string_view text) override {
    if (++read <= told) return;
    told = read;
    follow.on_line_(*pod.task, text);
  }
  void closed(const std::optional<Error>& error, int) override { follow.close(*this, error); }

  LogFollow& follow;
  PodSeen pod;
  std::unique_ptr<Watch> watch;
  uint64_t read = 0, told = 0;
  bool over = false;
};

LogFollow::LogFollow(ClusterClient& client, JobWatch& watch, LogChoice choice, OnTaskLine on_line)
    : client_(client),
      watch_(watch),
      choice_(std::move(choice)),
      on_line_(std::move(on_line)),
      alive_(std::make_shared<bool>(true)) {
  watch_.changed = [this] { look(); };
}

LogFollow::~LogFollow() {
  watch_.changed = nullptr;
  *alive_ = false;
}

void LogFollow::look() {
  for (const auto& [uid, pod] : watch_.pods()) {
    if (!is_chosen(pod, choice_) || !has_log(pod)) continue;
    auto& stream = streams_[{uid, pod.restarts}];
    const bool is_new = !stream;
    if (is_new) stream = std::make_unique<Stream>(*this, pod);
    stream->pod = pod;
    if (is_new) open(*stream);
  }
  const bool ended = !watch_.job() || seen_status(*watch_.job()).ended();
  if (!ended || over_ != Deadline{}) return;
  over_ = client_.loop().now() + (deadline_of(kLastWords) - Deadline{});
  client_.loop().at(over_, [] {});  // so that somebody looks then
}

void LogFollow::open(Stream& stream) {
  stream.read = 0;
  stream.watch = client_.api().read_log(stream.pod.name, query_of(choice_, true), stream);
}

void LogFollow::close(Stream& stream, const std::optional<Error>& error) {
  // Where only the last lines were asked for, nobody knows how many of them have been told.
  const bool passes =
      error && choice_.tail < 0 &&
      (error->code() == Code::kUnavailable || error->code() == Code::kDeadlineExceeded);
  const auto pod = watch_.pods().find(stream.pod.uid);
  if (!passes || pod == watch_.pods().end()) {
    if (error) {
      client_.say(fmt::format("{}: {}", stream.pod.task->name(), error->message()));
    }
    stream.over = true;
    return;
  }
  client_.loop().at(client_.loop().now() + (deadline_of(kTryAgain) - Deadline{}),
                    [this, &stream, alive = alive_] {
                      if (*alive) open(stream);
                    });
}

bool LogFollow::quiet() const {
  if (over_ == Deadline{}) return false;
  const bool waited = client_.loop().now() >= over_;
  for (const auto& [key, stream] : streams_) {
    const auto pod = watch_.pods().find(stream->pod.uid);
    const bool runs = pod != watch_.pods().end() && !has_ended(pod->second);
    if (!stream->over && !(waited && runs)) return false;
  }
  return true;
}

}  // namespace capstan::jobs::k8s
