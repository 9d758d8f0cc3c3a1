#include "jobs/k8s/http.h"

#include <utility>

#include "jobs/k8s/http_multi.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {

Http::Http(PollLoop& loop, HttpTrust trust, HttpOptions options)
    : loop_(loop),
      trust_(std::move(trust)),
      options_(options),
      multi_(std::make_unique<Multi>(loop, [this](int fd, int events) { act(fd, events); })),
      alive_(std::make_shared<bool>(true)) {}

Http::~Http() {
  *alive_ = false;
  while (!running_.empty()) remove(running_.begin()->first);
}

size_t Http::running() const { return running_.size(); }

Http::Id Http::send(HttpRequest request, OnDone done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  return add(std::move(transfer));
}

Http::Id Http::stream(HttpRequest request, OnBytes bytes, OnDone done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->bytes = std::move(bytes);
  transfer->done = std::move(done);
  return add(std::move(transfer));
}

Http::Id Http::add(std::unique_ptr<Transfer> transfer) {
  const Id id = transfer->id = next_++;
  const bool overtakes = transfer->is_stream() || transfer->request.urgent;
  transfer->http = this;
  soon();
  if (overtakes || waiting_.size() < options_.waiting) {
    (overtakes ? overtaking_ : waiting_).push_back(std::move(transfer));
    return id;
  }
  ++requests_;
  running_.emplace(id, std::move(transfer));
  fail(id, "too many requests wait for the server already");
  return id;
}

void Http::fail(Id id, std::string why) {
  ended_.push_back({id, {.failure = HttpFailure::kNotReached, .error = std::move(why)}});
}

void Http::cancel(Id id) {
  if (running_.contains(id)) return remove(id);
  const auto is_it = [&](const auto& transfer) { return transfer->id == id; };
  std::erase_if(overtaking_, is_it);
  std::erase_if(waiting_, is_it);
}

void Http::remove(Id id) {
  const auto transfer = std::move(running_.extract(id).mapped());
  loop_.cancel(transfer->timer);
  if (transfer->easy) curl_multi_remove_handle(multi_->get(), transfer->easy.get());
  if (!transfer->is_stream()) --requests_;
  if (!waiting_.empty() && *alive_) soon();
}

void Http::soon() {
  if (std::exchange(scheduled_, true)) return;
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    scheduled_ = false;
    pump();
    deliver();
  });
}

void Http::pump() {
  for (auto& transfer : std::exchange(overtaking_, {})) begin(std::move(transfer));
  while (requests_ < options_.running && !waiting_.empty()) {
    auto transfer = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(transfer));
  }
}

void Http::begin(std::unique_ptr<Transfer> transfer) {
  Transfer& here = *transfer;
  if (!here.is_stream()) ++requests_;
  running_.emplace(here.id, std::move(transfer));
  try {
    here.set_up(trust_, options_);
    if (here.is_stream()) look_at_the_clock(here);
    const CURLMcode code = curl_multi_add_handle(multi_->get(), here.easy.get());
    if (code != CURLM_OK) throw resource_exhausted("libcurl: {}", curl_multi_strerror(code));
  } catch (const Error& error) {
    fail(here.id, error.message());
  }
}

// libcurl's own time-out is for the whole of a transfer, and a stream may last.
void Http::look_at_the_clock(Transfer& transfer) {
  const Deadline when = loop_.now() + (deadline_of(transfer.request.timeout) - Deadline{});
  transfer.timer = loop_.at(when, [this, &transfer] {
    transfer.timer = 0;
    if (transfer.answered) return;
    finish(transfer.id,
           {.failure = HttpFailure::kLate,
            .error = "no answer after " + std::to_string(transfer.request.timeout) + " s"});
  });
}

void Http::act(int fd, int events) {
  int still_running = 0;
  curl_multi_socket_action(multi_->get(), fd, events, &still_running);
  collect();
  deliver();
}

void Http::collect() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_->get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    CURL* easy = message->easy_handle;
    const CURLcode result = message->data.result;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    curl_multi_remove_handle(multi_->get(), easy);
    // The last bytes of a stream are told before its end.
    ended_.push_back({transfer->id, transfer->answer(result)});
  }
}

// From here on callbacks run, which may send and cancel: everything is looked up anew.
void Http::deliver() {
  deliver_bytes();
  for (auto& [id, answer] : std::exchange(ended_, {})) finish(id, std::move(answer));
}

void Http::deliver_bytes() {
  for (Id id : std::exchange(has_bytes_, {})) {
    auto found = running_.find(id);
    if (found == running_.end()) continue;
    found->second->listed = false;
    const std::string bytes = std::exchange(found->second->body, {});
    const OnBytes told = found->second->bytes;  // it may end this stream
    told(bytes);
  }
}

void Http::finish(Id id, HttpAnswer&& answer) {
  auto found = running_.find(id);
  if (found == running_.end()) return;
  const OnDone done = std::move(found->second->done);
  remove(id);
  done(std::move(answer));
}

}  // namespace capstan::jobs::k8s
