#include "jobs/k8s/memory_api.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "jobs/k8s/kube_error.h"
#include "jobs/k8s/memory_rules.h"
#include "jobs/k8s/memory_store.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {

using nlohmann::json;

// One who watches. Without a sink it has gone, or has been told the end.
struct MemoryApi::Seat {
  Resource resource;
  std::string space;
  Selector selector;
  WatchSink* sink;
  uint64_t seen = 0;
  bool bookmarks = false;
  Loop::TimerId timer = 0;

  bool picks(const Object& object, const ObjectName& name) const {
    return object && (space.empty() || space == name.space) && selector.matches(*object);
  }
  void tell(std::string_view type, const json& object, uint64_t version) {
    json copy = MemoryStore::shown(resource, object);
    copy["metadata"]["resourceVersion"] = std::to_string(version);
    sink->event(type, std::move(copy));
  }
  void tell(const Change& change) {
    const bool before = picks(change.before, change.name), after = picks(change.after, change.name);
    seen = change.version;
    if (change.kind != folder_of(resource) || (!before && !after)) return;
    const char* type = !before ? "ADDED" : after ? "MODIFIED" : "DELETED";
    // What was changed so that it is no longer picked is told as it last was.
    tell(type, after ? *change.after : *change.before, change.version);
  }
};

struct MemoryApi::Reader {
  ObjectName pod;
  LogFollower* follower;
  size_t read = 0;
  bool follows = false;
};

class MemoryApi::Handle final : public Watch {
 public:
  explicit Handle(std::function<void()> end) : end_(std::move(end)) {}
  ~Handle() override { end_(); }

 private:
  std::function<void()> end_;
};

namespace {

bool is_gone(const auto& watcher) { return watcher->sink == nullptr; }

uint64_t version_in(const Query& query) {
  const std::string_view text = query_value(query, "resourceVersion");
  uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

std::string last_lines(const std::string& text, std::string_view count_text) {
  size_t count = 0;
  std::from_chars(count_text.data(), count_text.data() + count_text.size(), count);
  if (count_text.empty()) return text;
  size_t begin = text.ends_with('\n') ? text.size() - 1 : text.size();
  for (; count > 0 && begin != std::string::npos && begin > 0; --count) {
    begin = text.rfind('\n', begin - 1);
  }
  return begin == std::string::npos || begin == 0 ? text : text.substr(begin + 1);
}

}  // namespace

MemoryApi::MemoryApi(Loop& loop, WallClock clock)
    : loop_(loop),
      store_(std::make_unique<MemoryStore>(std::move(clock))),
      alive_(std::make_shared<bool>(true)) {}

MemoryApi::~MemoryApi() { *alive_ = false; }

void MemoryApi::after(double seconds, std::function<void()> task) {
  auto guarded = [alive = alive_, task = std::move(task)] {
    if (*alive) task();
  };
  if (seconds <= 0) return loop_.post(std::move(guarded));
  loop_.at(loop_.now() + (deadline_of(seconds) - Deadline{}), std::move(guarded));
}

void MemoryApi::call(ApiCall call, OnAnswer done) {
  history_.push_back(text_of(asked_of(call)));
  const std::optional<Fault> fault = next_fault(call);
  const double delay = fault ? fault->delay : 0;
  if (fault && fault->takes_effect) {
    after(0, [=, this] {
      const ApiAnswer late = answer(call, fault);
      after(delay, [=] { done(late); });
    });
    return;
  }
  after(delay, [=, this] { done(answer(call, fault)); });
}

ApiAnswer MemoryApi::now(ApiCall call) { return answer(call, {}); }

ApiAnswer MemoryApi::answer(const ApiCall& call, const std::optional<Fault>& fault) {
  ApiAnswer truth;
  if (!fault || fault->takes_effect || fault->code == 200) {
    truth = call.subresource == "log" ? log_of(call) : store_->apply(call);
    spread_later();
  }
  if (!fault || fault->code == 200) return truth;
  const Asked asked = asked_of(call);
  if (fault->code == 0) return {.error = not_reached(asked, "the connection broke (planned)")};
  const json status = status_json(fault->code, reason_of(fault->code), "planned");
  return {.code = fault->code,
          .body = std::make_shared<json>(status),
          .error = refusal(asked, fault->code, &status),
          .retry_after = fault->retry_after};
}

void MemoryApi::plan(Fault fault) { faults_.push_back(std::move(fault)); }

std::optional<Fault> MemoryApi::next_fault(const ApiCall& call) {
  auto found = std::ranges::find_if(
      faults_, [&](const Fault& fault) { return !fault.matches || fault.matches(call); });
  if (found == faults_.end()) return {};
  const Fault fault = *found;
  if (--found->times <= 0) faults_.erase(found);
  return fault;
}

std::unique_ptr<Watch> MemoryApi::watch(Resource resource, std::string space, std::string query,
                                        WatchSink& sink) {
  history_.push_back(text_of({"watch", resource, "", {space, ""}}));
  const Query words = parse_query(query);
  auto seat = std::make_shared<Seat>(Seat{
      resource, space,
      Selector(query_value(words, "labelSelector"), query_value(words, "fieldSelector")), &sink});
  seat->bookmarks = query_value(words, "allowWatchBookmarks") == "true";
  seat->seen = UINT64_MAX;  // nothing is told before it has begun
  seats_.push_back(seat);
  after(0, [=, this] { begin(seat, query); });
  return std::make_unique<Handle>([this, seat] {
    if (seat->timer) loop_.cancel(seat->timer);
    seat->sink = nullptr;
  });
}

void MemoryApi::begin(const std::shared_ptr<Seat>& seat, const std::string& query) {
  if (!seat->sink) return;
  const Asked asked{"watch", seat->resource, "", {seat->space, ""}};
  const Query words = parse_query(query);
  const uint64_t from = version_in(words);
  if (refuse_watches_) return close(seat, not_reached(asked, "the connection broke (planned)"), 0);
  if (from != 0 && from < store_->oldest()) {
    const json status = status_json(410, "Expired", "too old resource version");
    return close(seat, refusal(asked, 410, &status), 410);
  }
  const auto seconds = query_value(words, "timeoutSeconds");
  double limit = 0;
  std::from_chars(seconds.data(), seconds.data() + seconds.size(), limit);
  if (limit > 0) {
    seat->timer = loop_.at(loop_.now() + (deadline_of(limit) - Deadline{}), [=, this] {
      seat->timer = 0;
      close(seat, {}, 200);
    });
  }
  seat->seen = from == 0 ? store_->version() : from;
  if (from == 0) {
    for (const auto& [name, object] : store_->all(seat->resource)) {
      if (!seat->sink || !seat->picks(object, name)) continue;
      seat->tell("ADDED", *object, std::stoull(text_at((*object)["metadata"], "resourceVersion")));
    }
  }
  spread_later();
}

void MemoryApi::spread_later() {
  after(watch_delay_, [this, until = store_->version()] { spread(until); });
}

// Sinks may open and end watches while they are told; calls that they make come later.
void MemoryApi::spread(uint64_t until) {
  const auto seats = seats_;
  for (const auto& seat : seats) {
    // Looked up anew each time: a test's sink may change objects while it is told.
    while (const Change* change = store_->next_change(seat->seen)) {
      if (change->version > until || !seat->sink) break;
      seat->tell(Change(*change));
    }
  }
  std::erase_if(seats_, is_gone<std::shared_ptr<Seat>>);
}

void MemoryApi::close(const std::shared_ptr<Seat>& seat, std::optional<Error> error, int code) {
  WatchSink* sink = std::exchange(seat->sink, nullptr);
  if (seat->timer) loop_.cancel(std::exchange(seat->timer, 0));
  if (sink) sink->closed(error, code);
}

void MemoryApi::break_watches(int code) {
  for (const auto& seat : std::exchange(seats_, {})) {
    const Asked asked{"watch", seat->resource, "", {seat->space, ""}};
    const Error error = code == 0 ? not_reached(asked, "the connection broke (planned)")
                                  : refusal(asked, code, nullptr);
    after(0, [=, this] { close(seat, error, code); });
  }
}

void MemoryApi::refuse_watches(bool refused) { refuse_watches_ = refused; }
void MemoryApi::delay_watches(double seconds) { watch_delay_ = seconds; }
// Whoever watches already misses nothing.
void MemoryApi::compact() {
  spread(store_->version());
  store_->compact();
}

void MemoryApi::collect_garbage() {
  store_->collect_garbage();
  spread_later();
}

void MemoryApi::send_bookmarks() {
  after(watch_delay_, [this, version = store_->version()] {
    spread(version);
    const auto seats = seats_;
    for (const auto& seat : seats) {
      const bool wanted = seat->sink && seat->bookmarks && seat->seen != UINT64_MAX;
      if (wanted) seat->tell("BOOKMARK", {{"kind", seat->resource.kind}}, version);
    }
  });
}

std::unique_ptr<Watch> MemoryApi::read_log(ObjectName pod, std::string query,
                                           LogFollower& follower) {
  history_.push_back("get pods/log " + pod.space + "/" + pod.name);
  auto reader = std::make_shared<Reader>(Reader{pod, &follower});
  reader->follows = query_value(parse_query(query), "follow") == "true";
  readers_.push_back(reader);
  after(0, [=, this] { send_lines(pod); });
  return std::make_unique<Handle>([reader] { reader->follower = nullptr; });
}

void MemoryApi::append_log(const ObjectName& pod, std::string_view text) {
  logs_[pod].text += text;
  after(0, [=, this] { send_lines(pod); });
}

void MemoryApi::end_log(const ObjectName& pod) {
  logs_[pod].ended = true;
  after(0, [=, this] { send_lines(pod); });
}

void MemoryApi::send_lines(const ObjectName& pod) {
  const Log log = logs_[pod];
  const auto readers = readers_;
  for (const auto& reader : readers) {
    size_t end;
    while (reader->pod == pod && reader->follower &&
           (end = log.text.find('\n', reader->read)) != std::string::npos) {
      const std::string line = log.text.substr(reader->read, end - reader->read);
      reader->read = end + 1;
      reader->follower->line(line);
    }
    const bool over = reader->pod == pod && (log.ended || !reader->follows);
    if (over && reader->follower) std::exchange(reader->follower, nullptr)->closed({}, 200);
  }
  std::erase_if(readers_, [](const auto& reader) { return reader->follower == nullptr; });
}

ApiAnswer MemoryApi::log_of(const ApiCall& call) const {
  ApiAnswer there = store_->apply({.resource = kPods, .object = call.object});
  if (!there.ok()) return there;
  auto found = logs_.find(call.object);
  const Query query = parse_query(call.query);
  const std::string text = found == logs_.end() ? "" : found->second.text;
  return {.code = 200,
          .body = std::make_shared<json>(last_lines(text, query_value(query, "tailLines")))};
}

size_t MemoryApi::watches() const {
  return size_t(std::ranges::count_if(seats_, [](const auto& seat) { return seat->sink; }));
}

std::vector<json> MemoryApi::objects(const Resource& resource) const {
  std::vector<json> all;
  for (const auto& [name, object] : store_->all(resource)) {
    all.push_back(MemoryStore::shown(resource, *object));
  }
  return all;
}

}  // namespace capstan::jobs::k8s
