#include "jobs/k8s/cluster_client.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jobs/k8s/json_at.h"
#include "jobs/k8s/kube_error.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr double kSilence = 5;  // seconds
constexpr int kPage = 500;

Deadline::duration span(double seconds) { return deadline_of(seconds) - Deadline{}; }

// For an unknown kind the server has no Status, or one that names nothing.
bool is_absent(const ApiAnswer& answer) {
  return answer.code == 404 && answer.body && !text_at(at(*answer.body, "details"), "name").empty();
}

std::string selectors(const std::string& labels, const std::string& fields) {
  std::string query = fmt::format("limit={}", kPage);
  if (!labels.empty()) query += "&labelSelector=" + query_escape(labels);
  if (!fields.empty()) query += "&fieldSelector=" + query_escape(fields);
  return query;
}

}  // namespace

ClusterClient::ClusterClient(PollLoop& loop, KubeApi& api, Say say)
    : loop_(loop), api_(api), say_(std::move(say)) {}

ApiAnswer ClusterClient::ask(ApiCall call) {
  const std::string what = text_of(asked_of(call));
  // The answer may come after somebody has lost patience and thrown.
  const auto answer = std::make_shared<std::optional<ApiAnswer>>();
  api_.call(std::move(call), [answer](const ApiAnswer& got) { *answer = got; });
  wait([&] { return answer->has_value(); }, 0,
       [&] { return "waiting for the server's answer: " + what; });
  return **answer;
}

json ClusterClient::must(ApiCall call) {
  const ApiAnswer answer = ask(std::move(call));
  if (answer.error) throw Error(*answer.error);
  return answer.body ? *answer.body : json();
}

std::optional<json> ClusterClient::find(Resource resource, ObjectName object, double timeout) {
  const ApiAnswer answer =
      ask({.resource = resource, .object = std::move(object), .timeout = timeout});
  if (is_absent(answer)) return std::nullopt;
  if (answer.error) throw Error(*answer.error);
  return *answer.body;
}

std::vector<json> ClusterClient::list(Resource resource, const std::string& space,
                                      const std::string& labels, const std::string& fields) {
  std::vector<json> all;
  for (std::string token;;) {
    const std::string more = token.empty() ? "" : "&continue=" + query_escape(token);
    const json page = must(
        {.resource = resource, .object = {space, ""}, .query = selectors(labels, fields) + more});
    for (const json& one : list_at(page, "items")) all.push_back(one);
    token = text_at(at(page, "metadata"), "continue");
    if (token.empty()) return all;
  }
}

namespace {

// Does not outlive what it refers to, whatever is thrown.
class Timer {
 public:
  Timer(Loop& loop, double seconds, Loop::Task task)
      : loop_(loop), id_(loop.at(loop.now() + span(seconds), std::move(task))) {}
  ~Timer() { loop_.cancel(id_); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Loop& loop_;
  const Loop::TimerId id_;
};

}  // namespace

bool ClusterClient::wait(FunctionRef<bool()> done, double seconds,
                         const std::function<std::string()>& what) {
  bool late = false;
  const Timer silence(loop_, kSilence, [&] { say_(what()); });
  std::optional<Timer> limit;
  if (seconds > 0) limit.emplace(loop_, seconds, [&] { late = true; });
  loop_.run_until([&] { return late || done(); });
  return done();
}

}  // namespace capstan::jobs::k8s
