#include "jobs/k8s/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {

using nlohmann::json;

namespace {

constexpr size_t kMostMessage = 1024, kMostReason = 128, kMostName = 200;  // bytes

// Whole characters, and no bytes that are none.
std::string cut(std::string_view text, size_t most) {
  std::string whole = printable(text);
  if (whole.size() <= most) return whole;
  while (most > 0 && (whole[most] & 0xC0) == 0x80) --most;
  return whole.substr(0, most);
}

std::string_view type_text(EventType type) {
  return type == EventType::kNormal ? "Normal" : "Warning";
}

// Events of objects that have no namespace are kept in `default`.
std::string space_of(const EventTarget& about) {
  return about.object.space.empty() ? "default" : about.object.space;
}

bool may_pass(const ApiAnswer& answer) {
  return answer.error->code() == Code::kUnavailable ||
         answer.error->code() == Code::kDeadlineExceeded;
}

}  // namespace

struct EventRecorder::Entry {
  EventTarget about;
  EventType type;
  std::string reason, message;
  double first = 0, last = 0;
  int count = 0, written = 0, failures = 0;
  std::string name;      // of the Event, from its first sending on
  bool created = false;  // it is known to be there
  bool queued = false, in_flight = false;
  std::list<std::string>::iterator use;  // its key in by_use_

  json target() const {
    json object = {{"kind", about.resource.kind},
                   {"apiVersion",
                    about.api_version.empty() ? api_version_of(about.resource) : about.api_version},
                   {"name", about.object.name},
                   {"uid", about.uid}};
    if (!about.object.space.empty()) object["namespace"] = about.object.space;
    if (!about.resource_version.empty()) object["resourceVersion"] = about.resource_version;
    return object;
  }
  json whole(const EventOptions& options) const {
    json source = {{"component", options.component}};
    if (!options.host.empty()) source["host"] = options.host;
    return {{"apiVersion", "v1"},
            {"kind", "Event"},
            {"metadata", {{"name", name}, {"namespace", space_of(about)}}},
            {"involvedObject", target()},
            {"type", type_text(type)},
            {"reason", reason},
            {"message", message},
            {"source", source},
            {"reportingComponent", options.component},
            {"reportingInstance", options.host},
            {"firstTimestamp", kube_time(first)},
            {"lastTimestamp", kube_time(last)},
            {"count", count}};
  }
  json again() const { return {{"count", count}, {"lastTimestamp", kube_time(last)}}; }
};

EventRecorder::EventRecorder(KubeApi& api, Loop& loop, Random& random, EventOptions options,
                             WallClock clock)
    : api_(api),
      loop_(loop),
      random_(random),
      options_(std::move(options)),
      clock_(std::move(clock)),
      alive_(std::make_shared<bool>(true)) {}

EventRecorder::~EventRecorder() { *alive_ = false; }

void EventRecorder::record(const EventTarget& about, EventType type, std::string_view reason,
                           std::string_view message) {
  const EntryRef entry = find_or_make(about, type, reason, message);
  ++entry->count;
  entry->last = clock_();
  enqueue(entry);
  pump();
}

EventRecorder::EntryRef EventRecorder::find_or_make(const EventTarget& about, EventType type,
                                                    std::string_view reason,
                                                    std::string_view message) {
  const std::string text = cut(message, kMostMessage), word = cut(reason, kMostReason);
  std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{}", about.uid, space_of(about), about.object.name, word, text);
  key += type_text(type);
  EntryRef& entry = entries_[key];
  const bool same = entry && clock_() - entry->last <= options_.same_for;
  const auto use = entry ? entry->use : by_use_.insert(by_use_.end(), key);
  by_use_.splice(by_use_.end(), by_use_, use);
  if (same) return entry;
  entry =
      std::make_shared<Entry>(Entry{.about = about, .type = type, .reason = word, .message = text});
  entry->first = clock_();
  entry->use = use;
  const EntryRef made = entry;
  forget_old();
  return made;
}

void EventRecorder::forget_old() {
  while (entries_.size() > options_.remembered && by_use_.size() > 1) {
    entries_.erase(by_use_.front());
    by_use_.pop_front();
  }
}

// While it waits or is under way its count grows; one call then tells all of it.
void EventRecorder::enqueue(const EntryRef& entry) {
  if (entry->queued || entry->in_flight) return;
  if (queue_.size() >= options_.queue) {
    queue_.front()->queued = false;
    queue_.pop_front();
    ++dropped_;
  }
  entry->queued = true;
  queue_.push_back(entry);
}

void EventRecorder::pump() {
  while (in_flight_ < options_.in_flight && !queue_.empty()) {
    const EntryRef entry = queue_.front();
    queue_.pop_front();
    entry->queued = false;
    entry->in_flight = true;
    ++in_flight_;
    send(entry);
  }
}

void EventRecorder::send(const EntryRef& entry) {
  if (entry->name.empty()) {
    entry->name =
        fmt::format("{}.{:016x}", entry->about.object.name.substr(0, kMostName), random_.u64());
  }
  const std::string space = space_of(entry->about);
  ApiCall call{.verb = entry->created ? Verb::kMergePatch : Verb::kCreate,
               .resource = kEvents,
               .object = {space, entry->created ? entry->name : ""}};
  call.body = std::make_shared<json>(entry->created ? entry->again() : entry->whole(options_));
  api_.call(std::move(call),
            [this, alive = alive_, entry, count = entry->count](const ApiAnswer& answer) {
              if (*alive) sent(entry, answer, count);
            });
}

void EventRecorder::sent(const EntryRef& entry, const ApiAnswer& answer, int count) {
  // Our own earlier attempt, of which we heard nothing: the name is ours alone.
  const bool was_there =
      !entry->created && answer.error && answer.error->code() == Code::kAlreadyExists;
  if (answer.ok()) {
    entry->created = true;
    entry->written = count;
    entry->failures = 0;
    ++written_;
  } else if (was_there) {
    entry->created = true;
  } else if (entry->created && answer.code == 404) {  // the server forgets events after an hour
    entry->created = false;
    entry->name.clear();
  } else if (may_pass(answer) && ++entry->failures < options_.attempts) {
    return retry(entry, answer.retry_after);
  } else {
    entry->written = entry->count;
    entry->failures = 0;
    ++dropped_;
  }
  --in_flight_;
  entry->in_flight = false;
  if (entry->written < entry->count) enqueue(entry);
  pump();
}

// It keeps its place among those under way: a server in trouble gets fewer calls, not more.
void EventRecorder::retry(const EntryRef& entry, double retry_after) {
  Backoff backoff(random_, {0.2, 5});
  for (int i = 1; i < entry->failures; ++i) backoff.next();
  loop_.at(loop_.now() + (deadline_of(backoff.next(retry_after)) - Deadline{}),
           [this, alive = alive_, entry] {
             if (*alive) send(entry);
           });
}

}  // namespace capstan::jobs::k8s
