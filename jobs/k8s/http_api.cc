#include "jobs/k8s/http_api.h"

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "jobs/k8s/http_address.h"
#include "jobs/k8s/kube_error.h"
#include "jobs/k8s/stream_lines.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {

using nlohmann::json;

namespace {

constexpr double kTokenSeconds = 30;  // after which the file is read again

Deadline::duration span(double seconds) { return deadline_of(seconds) - Deadline{}; }

HttpTrust trust_of(const KubeConfig& config) {
  return {.ca = config.ca,
          .insecure = config.insecure,
          .connect_to = config.tls_server_name.empty() ? "" : host_and_port(config.server),
          .certificate = config.certificate,
          .key = config.key,
          .proxy = config.proxy};
}

std::string_view method_of(Verb verb) {
  switch (verb) {
    case Verb::kGet: return "GET";
    case Verb::kCreate: return "POST";
    case Verb::kUpdate: return "PUT";
    case Verb::kMergePatch:
    case Verb::kApply: return "PATCH";
    case Verb::kDelete: break;
  }
  return "DELETE";
}

// JSON is YAML.
std::string_view content_type(Verb verb) {
  if (verb == Verb::kMergePatch) return "application/merge-patch+json";
  return verb == Verb::kApply ? "application/apply-patch+yaml" : "application/json";
}

// A Status object, or the text that a proxy wrote.
json body_of(const std::string& text) {
  try {
    return parse_answer(text);
  } catch (const Error&) {
    return text;
  }
}

// A second line would be a header of its own.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

bool is_success(int code) { return code / 100 == 2; }

}  // namespace

// A watch or a log that is open; without a sink nobody listens any more.
struct HttpApi::Stream {
  Asked asked;
  LineCutter lines;
  WatchSink* sink = nullptr;
  LogFollower* follower = nullptr;
  Http::Id id = 0;
  std::string space;

  bool heard() const { return sink || follower; }
};

class HttpApi::Handle final : public Watch {
 public:
  Handle(HttpApi& api, std::shared_ptr<Stream> stream) : api_(api), stream_(std::move(stream)) {}
  ~Handle() override {
    stream_->sink = nullptr;
    stream_->follower = nullptr;
    api_.http_.cancel(stream_->id);
  }

 private:
  HttpApi& api_;
  std::shared_ptr<Stream> stream_;
};

HttpApi::HttpApi(PollLoop& loop, KubeConfig config, HttpApiOptions options, Files& files)
    : loop_(loop),
      config_(std::move(config)),
      options_(options),
      files_(files),
      base_(with_host(config_.server, config_.tls_server_name)),
      token_(first_line(config_.token)),
      alive_(std::make_shared<bool>(true)),
      http_(loop, trust_of(config_), options.http) {}

HttpApi::~HttpApi() { *alive_ = false; }

void HttpApi::call(ApiCall call, OnAnswer done) {
  const bool urgent = call.urgent;
  in_turn(urgent, [this, call = std::move(call), done = std::move(done)] {
    http_.send(request_of(call), [this, asked = asked_of(call), done](HttpAnswer&& answer) {
      done(answer_of(asked, std::move(answer)));
    });
  });
}

HttpRequest HttpApi::request_of(const ApiCall& call) {
  Asked asked = asked_of(call);
  if (call.verb == Verb::kCreate && call.subresource.empty()) asked.object.name.clear();
  HttpRequest request{.method = std::string(method_of(call.verb)),
                      .url = url_of(asked, call.query),
                      .headers = headers(),
                      .timeout = call.timeout > 0 ? call.timeout : options_.timeout,
                      .urgent = call.urgent};
  if (!call.body) return request;
  request.headers.push_back("Content-Type: " + std::string(content_type(call.verb)));
  // Bytes that are no UTF-8 would make the server refuse all of it.
  request.body = call.body->dump(-1, ' ', false, json::error_handler_t::replace);
  return request;
}

std::string HttpApi::url_of(const Asked& asked, std::string_view query) const {
  return address_of(base_, asked) + (query.empty() ? "" : "?") + std::string(query);
}

std::vector<std::string> HttpApi::headers() {
  std::vector<std::string> headers = {"Accept: application/json",
                                      "User-Agent: capstan/" + std::string(version())};
  if (const std::string token = bearer(); !token.empty()) {
    headers.push_back("Authorization: Bearer " + token);
  }
  return headers;
}

// Tokens of pods are replaced in their files before they expire. One that cannot be read at the
// moment leaves the last one.
std::string HttpApi::bearer() {
  if (config_.token_file.empty()) return token_;
  if (!token_stale_ && loop_.now() - token_read_ < span(kTokenSeconds)) return token_;
  token_read_ = loop_.now();
  token_stale_ = false;
  try {
    const std::string text = first_line(files_.read(config_.token_file));
    if (!text.empty()) token_ = text;
  } catch (const Error&) {
  }
  return token_;
}

ApiAnswer HttpApi::answer_of(const Asked& asked, HttpAnswer&& answer) {
  ApiAnswer out{.code = answer.code, .retry_after = answer.retry_after};
  if (answer.failure != HttpFailure::kNone) {
    out.code = 0;
    out.error = failure_of(asked, answer);
    return out;
  }
  try {
    const bool text = asked.subresource == "log" && is_success(answer.code);
    if (!is_success(answer.code)) {
      out.body = std::make_shared<json>(body_of(answer.body));
    } else if (text) {
      out.body = std::make_shared<json>(std::move(answer.body));
    } else {
      out.body = std::make_shared<json>(parse_answer(answer.body));
    }
  } catch (const Error& error) {
    out.error = data_loss("cannot {}: {}", text_of(asked), error.message());
  }
  if (!is_success(answer.code)) out.error = error_of(asked, answer, out.body.get());
  return out;
}

Error HttpApi::error_of(const Asked& asked, const HttpAnswer& answer, const json* body) {
  if (answer.code != 401) return refusal(asked, answer.code, body);
  token_stale_ = true;
  const Error error = refusal(asked, answer.code, body);
  return Error(error.code(), error.message() + " (they are from " + config_.source + ")");
}

Error HttpApi::failure_of(const Asked& asked, const HttpAnswer& answer) const {
  const std::string what = fmt::format("{}: {}", config_.server, answer.error);
  switch (answer.failure) {
    case HttpFailure::kLate:
      return deadline_exceeded("cannot {}: {}. It may have been done all the same", text_of(asked),
                               what);
    case HttpFailure::kTooLong:
      return data_loss("cannot {}: the answer of {} is longer than {} MB", text_of(asked),
                       config_.server, options_.http.most_body >> 20);
    case HttpFailure::kUntrusted:
      return not_reached(asked, what + ". The certificates are those of " + config_.source);
    default: return not_reached(asked, what);
  }
}

double HttpApi::turn() {
  if (options_.requests_per_second <= 0) return 0;
  const double step = 1 / options_.requests_per_second;
  next_turn_ = std::max(next_turn_, loop_.now()) + span(step);
  const double ahead = seconds_of(next_turn_) - seconds_of(loop_.now());
  return std::max(0.0, ahead - step * std::max(1.0, options_.burst));
}

void HttpApi::in_turn(bool urgent, std::function<void()> send) {
  const double wait = urgent ? 0 : turn();
  if (wait <= 0) return send();
  loop_.at(loop_.now() + span(wait), [alive = alive_, send = std::move(send)] {
    if (*alive) send();
  });
}

std::unique_ptr<Watch> HttpApi::watch(Resource resource, std::string space, std::string query,
                                      WatchSink& sink) {
  auto stream = std::make_shared<Stream>(
      Stream{{"watch", resource, "", {std::move(space), ""}}, LineCutter(options_.most_line)});
  stream->sink = &sink;
  return open(std::move(stream), "watch=true&" + query);
}

std::unique_ptr<Watch> HttpApi::read_log(ObjectName pod, std::string query, LogFollower& follower) {
  auto stream = std::make_shared<Stream>(
      Stream{{"get", kPods, "log", std::move(pod)}, LineCutter(options_.most_line)});
  stream->follower = &follower;
  return open(std::move(stream), query);
}

std::unique_ptr<Watch> HttpApi::open(std::shared_ptr<Stream> stream, std::string_view query) {
  HttpRequest request{
      .url = url_of(stream->asked, query), .headers = headers(), .timeout = options_.timeout};
  stream->id = http_.stream(
      std::move(request), [this, stream](std::string_view bytes) { take(*stream, bytes); },
      [this, stream](HttpAnswer&& answer) { ended(*stream, std::move(answer)); });
  return std::make_unique<Handle>(*this, std::move(stream));
}

// Whoever listens may end it while being told.
void HttpApi::take(Stream& stream, std::string_view bytes) {
  if (stream.follower) {
    const auto told = [&](std::string_view line) {
      stream.follower->line(line);
      return stream.heard();
    };
    if (!stream.lines.feed(bytes, told)) stream.follower->line(stream.lines.take_rest());
    return;
  }
  const bool short_enough =
      stream.lines.feed(bytes, [&](std::string_view line) { return take_event(stream, line); });
  if (short_enough || !stream.heard()) return;
  http_.cancel(stream.id);
  end(stream,
      data_loss("cannot {}: an event is longer than {} MB", text_of(stream.asked),
                options_.most_line >> 20),
      0);
}

bool HttpApi::take_event(Stream& stream, std::string_view line) {
  if (line.empty()) return true;
  try {
    read_watch_line(line, [&](std::string_view type, json&& object) {
      if (type != "ERROR") return stream.sink->event(type, std::move(object));
      const auto code = object.find("code");
      const int number = code != object.end() && code->is_number_integer() ? code->get<int>() : 500;
      http_.cancel(stream.id);
      end(stream, refusal(stream.asked, number, &object), number);
    });
  } catch (const Error& error) {
    http_.cancel(stream.id);
    end(stream, data_loss("cannot {}: {}", text_of(stream.asked), error.message()), 0);
  }
  return stream.heard();
}

void HttpApi::ended(Stream& stream, HttpAnswer&& answer) {
  const std::string rest = stream.lines.take_rest();
  if (stream.follower && !rest.empty()) stream.follower->line(rest);
  if (!stream.heard()) return;
  if (answer.failure != HttpFailure::kNone) return end(stream, failure_of(stream.asked, answer), 0);
  if (is_success(answer.code)) return end(stream, {}, answer.code);
  const json body = body_of(answer.body);
  end(stream, error_of(stream.asked, answer, &body), answer.code);
}

void HttpApi::end(Stream& stream, std::optional<Error> error, int code) {
  WatchSink* sink = std::exchange(stream.sink, nullptr);
  LogFollower* follower = std::exchange(stream.follower, nullptr);
  if (sink) sink->closed(error, code);
  if (follower) follower->closed(error, code);
}

}  // namespace capstan::jobs::k8s
