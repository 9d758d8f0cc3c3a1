#pragma once

// The API of a real server, over HTTPS.

#include <memory>
#include <string>

#include "base/files.h"
#include "jobs/k8s/http.h"
#include "jobs/k8s/kube_api.h"
#include "jobs/k8s/kube_config.h"

namespace capstan::jobs::k8s {

struct Asked;

struct HttpApiOptions {
  HttpOptions http = {};
  double timeout = 30;             // seconds for a call that names none
  double requests_per_second = 0;  // 0: as fast as the server answers
  double burst = 0;                // so many may come at once before that holds
  size_t most_line = 8 << 20;      // bytes of one event; objects have 1.5 MB at most
};

class HttpApi final : public KubeApi {
 public:
  HttpApi(PollLoop& loop, KubeConfig config, HttpApiOptions options = {},
          Files& files = posix_files());
  ~HttpApi() override;

  void call(ApiCall call, OnAnswer done) override;
  std::unique_ptr<Watch> watch(Resource resource, std::string space, std::string query,
                               WatchSink& sink) override;
  std::unique_ptr<Watch> read_log(ObjectName pod, std::string query,
                                  LogFollower& follower) override;

  const KubeConfig& config() const { return config_; }

 private:
  struct Stream;
  class Handle;

  HttpRequest request_of(const ApiCall& call);
  std::string url_of(const Asked& asked, std::string_view query) const;
  std::vector<std::string> headers();
  std::string bearer();
  ApiAnswer answer_of(const Asked& asked, HttpAnswer&& answer);
  Error error_of(const Asked& asked, const HttpAnswer& answer, const nlohmann::json* body);
  Error failure_of(const Asked& asked, const HttpAnswer& answer) const;
  // Seconds to wait so that there are not too many.
  double turn();
  void in_turn(bool urgent, std::function<void()> send);
  std::unique_ptr<Watch> open(std::shared_ptr<Stream> stream, std::string_view query);
  void take(Stream& stream, std::string_view bytes);
  bool take_event(Stream& stream, std::string_view line);
  void end(Stream& stream, std::optional<Error> error, int code);
  void ended(Stream& stream, HttpAnswer&& answer);

  PollLoop& loop_;
  const KubeConfig config_;
  const HttpApiOptions options_;
  Files& files_;
  std::string base_;  // of all addresses
  std::string token_;
  Deadline token_read_{};
  bool token_stale_ = true;
  Deadline next_turn_{};
  std::shared_ptr<bool> alive_;
  Http http_;  // goes first: whatever it still had to tell is dropped
};

}  // namespace capstan::jobs::k8s
