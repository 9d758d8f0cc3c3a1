#include "jobs/k8s/http_multi.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/error.h"

namespace capstan::jobs::k8s {
namespace {

// A peer that vanished is noticed within these, even if nothing is sent.
constexpr long kKeepIdle = 15, kKeepInterval = 5;  // seconds
constexpr unsigned kUnanswered = 20'000;           // milliseconds

int set_up_socket(void*, curl_socket_t fd, curlsocktype) {
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnanswered, sizeof kUnanswered);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return CURL_SOCKOPT_OK;
}

long milliseconds(double seconds) { return long(std::clamp(seconds, 0.001, 1e6) * 1000); }

curl_blob borrowed(const std::string& text) {
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

// Nobody's proxy leads back to this machine.
bool is_loopback(const std::string& url) {
  const size_t host = url.find("://") + 3;
  return url.compare(host, 4, "127.") == 0 || url.compare(host, 9, "localhost") == 0 ||
         url.compare(host, 5, "[::1]") == 0;
}

bool is_untrusted(CURLcode result) {
  return result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE ||
         result == CURLE_SSL_CERTPROBLEM || result == CURLE_SSL_ISSUER_ERROR;
}

bool never_sent(CURL* easy) {
  curl_off_t sent = 0;
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
  return sent == 0;
}

}  // namespace

void Http::Transfer::set_up(const HttpTrust& trust, const HttpOptions& options) {
  easy.reset(curl_easy_init());
  if (!easy) throw resource_exhausted("libcurl has no memory for another request");
  CURL* curl = easy.get();
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
  curl_easy_setopt(curl, CURLOPT_PRIVATE, this);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &on_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, kKeepIdle);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, kKeepInterval);
  curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, &set_up_socket);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_seconds));
  if (!is_stream()) curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds(request.timeout));
  set_trust(trust);
  set_request();
}

void Http::Transfer::set_trust(const HttpTrust& trust) {
  CURL* curl = easy.get();
  const auto set = [&](CURLoption option, const std::string& text) {
    curl_blob blob = borrowed(text);
    if (!text.empty()) curl_easy_setopt(curl, option, &blob);
  };
  set(CURLOPT_CAINFO_BLOB, trust.ca);
  set(CURLOPT_SSLCERT_BLOB, trust.certificate);
  set(CURLOPT_SSLKEY_BLOB, trust.key);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, trust.insecure ? 0L : 1L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, trust.insecure ? 0L : 2L);
  if (!trust.connect_to.empty()) {
    connect_to.reset(curl_slist_append(nullptr, ("::" + trust.connect_to).c_str()));
    curl_easy_setopt(curl, CURLOPT_CONNECT_TO, connect_to.get());
  }
  if (!trust.proxy.empty()) {
    curl_easy_setopt(curl, CURLOPT_PROXY, trust.proxy.c_str());
  } else if (is_loopback(request.url)) {
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
  }
}

void Http::Transfer::set_request() {
  CURL* curl = easy.get();
  for (const std::string& header : request.headers) {
    headers.reset(curl_slist_append(headers.release(), header.c_str()));
  }
  // Large bodies go at once, without asking first.
  headers.reset(curl_slist_append(headers.release(), "Expect:"));
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  // Without TLS nothing tells early whether one connection could carry several requests.
  const bool tls = request.url.starts_with("https:");
  curl_easy_setopt(curl, CURLOPT_PIPEWAIT, tls ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
                   tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);  // an object named ".." is none
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.body.empty()) return;
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
}

size_t Http::Transfer::on_header(char*, size_t size, size_t count, void* self) {
  static_cast<Transfer*>(self)->answered = true;
  return size * count;
}

size_t Http::Transfer::on_bytes(char* data, size_t size, size_t count, void* self) {
  return static_cast<Transfer*>(self)->take({data, size * count});
}

// Anything but the number of bytes ends the transfer.
size_t Http::Transfer::take(std::string_view more) {
  long code = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &code);
  const bool streams = is_stream() && code / 100 == 2;
  too_long = !streams && body.size() + more.size() > http->options_.most_body;
  if (too_long) return 0;
  body += more;
  if (streams && !std::exchange(listed, true)) http->has_bytes_.push_back(id);
  return more.size();
}

HttpAnswer Http::Transfer::answer(CURLcode result) {
  long code = 0;
  curl_off_t wait = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &code);
  curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &wait);
  HttpAnswer answer{.code = int(code), .retry_after = double(wait)};
  if (!is_stream() || code / 100 != 2) answer.body = std::move(body);
  if (result == CURLE_OK) return answer;
  answer.error = error[0] ? error : curl_easy_strerror(result);
  answer.failure = HttpFailure::kBroken;
  if (never_sent(easy.get())) answer.failure = HttpFailure::kNotReached;
  if (is_untrusted(result)) answer.failure = HttpFailure::kUntrusted;
  if (too_long) answer.failure = HttpFailure::kTooLong;
  const bool late = result == CURLE_OPERATION_TIMEDOUT && answer.failure == HttpFailure::kBroken;
  if (late) answer.failure = HttpFailure::kLate;
  return answer;
}

Http::Multi::Multi(PollLoop& loop, std::function<void(int fd, int events)> act)
    : loop_(loop), act_(std::move(act)) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  multi_ = curl_multi_init();
  if (!multi_) throw resource_exhausted("libcurl has no memory");
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, 250L);
}

Http::Multi::~Multi() {
  curl_multi_cleanup(multi_);
  loop_.cancel(timer_);
  curl_global_cleanup();
}

int Http::Multi::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
  static_cast<Multi*>(self)->watch(fd, what);
  return 0;
}

int Http::Multi::on_timer(CURLM*, long milliseconds, void* self) {
  static_cast<Multi*>(self)->set_timer(milliseconds);
  return 0;
}

void Http::Multi::watch(int fd, int what) {
  if (what == CURL_POLL_REMOVE) return loop_.unwatch(fd);
  const bool in = what & CURL_POLL_IN, out = what & CURL_POLL_OUT;
  const short events = short((in ? POLLIN : 0) | (out ? POLLOUT : 0));
  // With both it has to look itself which of them it is.
  const int told = in && out ? 0 : in ? CURL_CSELECT_IN : CURL_CSELECT_OUT;
  loop_.watch(
      fd, [this, fd, told] { act_(fd, told); }, events);
}

void Http::Multi::set_timer(long milliseconds) {
  loop_.cancel(timer_);
  timer_ = 0;
  if (milliseconds < 0) return;
  timer_ = loop_.at(loop_.now() + std::chrono::milliseconds(milliseconds), [this] {
    timer_ = 0;
    act_(CURL_SOCKET_TIMEOUT, 0);
  });
}

}  // namespace capstan::jobs::k8s
