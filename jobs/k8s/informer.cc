#include "jobs/k8s/informer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jobs/platform.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

// A watch that lasted that long was one; seconds.
constexpr double kLasted = 1;

struct Identity {
  ObjectName name;
  std::string uid, version;
};

std::string text_at(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Identity identity_of(const json& object) {
  if (!object.is_object() || !object.contains("metadata")) return {};
  const json& metadata = object["metadata"];
  if (!metadata.is_object()) return {};
  return {{text_at(metadata, "namespace"), text_at(metadata, "name")},
          text_at(metadata, "uid"),
          text_at(metadata, "resourceVersion")};
}

bool passes(int code) { return code == 0 || code == 408 || code == 429 || code >= 500; }

}  // namespace

Informer::Informer(KubeApi& api, Loop& loop, Random& random, Resource resource,
                   InformerOptions options, InformerSink& sink)
    : api_(api),
      loop_(loop),
      random_(random),
      resource_(resource),
      options_(std::move(options)),
      sink_(sink),
      backoff_(random, options_.delays),
      alive_(std::make_shared<bool>(true)) {}

Informer::~Informer() {
  *alive_ = false;
  loop_.cancel(timer_);
}

void Informer::start() { list(); }

std::string Informer::selectors() const {
  std::string query;
  if (!options_.labels.empty()) query += "&labelSelector=" + query_escape(options_.labels);
  if (!options_.fields.empty()) query += "&fieldSelector=" + query_escape(options_.fields);
  return query;
}

void Informer::list() {
  ++lists_;
  ask_for_page("");
}

void Informer::ask_for_page(const std::string& token) {
  std::string query = paged_ ? fmt::format("limit={}", options_.page) : "limit=0";
  if (!token.empty()) query += "&continue=" + query_escape(token);
  api_.call({.verb = Verb::kGet,
             .resource = resource_,
             .object = {options_.space, ""},
             .query = query + selectors()},
            [this, alive = alive_](const ApiAnswer& answer) {
              if (*alive) take_page(answer);
            });
}

void Informer::take_page(const ApiAnswer& answer) {
  if (!answer.ok()) return failed_list(answer);
  const json& page = *answer.body;
  if (!page.is_object() || !page.contains("metadata") || !page["metadata"].is_object() ||
      !page.contains("items")) {
    ApiAnswer bad;
    bad.error = data_loss("the list of {} that the server sent is none", resource_.plural);
    return failed_list(bad);
  }
  take_items(page["items"]);
  const std::string token = text_at(page["metadata"], "continue");
  if (!token.empty()) return ask_for_page(token);
  end_of_list(text_at(page["metadata"], "resourceVersion"));
}

// An empty list may be written as null.
void Informer::take_items(const json& items) {
  if (!items.is_array()) return;
  for (const json& item : items) put(json(item));
}

// Pages that have expired are asked for again in one piece: the server is too busy for them.
void Informer::failed_list(const ApiAnswer& answer) {
  if (answer.code == 410) {
    paged_ = false;
  } else {
    trouble(*answer.error, true);
  }
  later(backoff_.next(answer.retry_after), &Informer::list);
}

void Informer::end_of_list(const std::string& version) {
  version_ = version;
  paged_ = true;
  drop_vanished();
  synced_ = true;
  sink_.synced();
  open_watch();
}

void Informer::drop_vanished() {
  for (auto next = known_.begin(); next != known_.end();) {
    auto here = next++;
    if (here->second.list == lists_) continue;
    const auto old = known_.extract(here);
    sink_.removed(old.key(), old.mapped().uid);
  }
}

void Informer::open_watch() {
  const double seconds = options_.watch_seconds * (1 + double(random_.u64() >> 11) * 0x1p-53);
  const std::string query =
      fmt::format("allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                  query_escape(version_), int64_t(seconds));
  watch_began_ = loop_.now();
  watch_ = api_.watch(resource_, options_.space, query + selectors(), *this);
}

void Informer::event(std::string_view type, json&& object) {
  const Identity identity = identity_of(object);
  if (identity.version.empty()) return;
  well();
  version_ = identity.version;
  if (type == "DELETED") return drop(object);
  if (type == "ADDED" || type == "MODIFIED") put(std::move(object));
}

void Informer::put(json&& object) {
  const Identity identity = identity_of(object);
  if (identity.name.name.empty()) return;
  auto [place, is_new] = known_.try_emplace(identity.name);
  Known& known = place->second;
  known.list = lists_;
  if (!is_new && known.uid == identity.uid && known.version == identity.version) return;
  const std::string old = is_new || known.uid == identity.uid ? "" : known.uid;
  known.uid = identity.uid;
  known.version = identity.version;
  if (!old.empty()) sink_.removed(identity.name, old);
  sink_.added_or_changed(std::move(object));
}

// Another object may have taken the name since.
void Informer::drop(const json& object) {
  const Identity identity = identity_of(object);
  auto found = known_.find(identity.name);
  if (found == known_.end() || found->second.uid != identity.uid) return;
  known_.erase(found);
  sink_.removed(identity.name, identity.uid);
}

void Informer::closed(const std::optional<Error>& error, int code) {
  const std::optional<Error> why = error;  // it may go with its watch
  watch_.reset();
  if (loop_.now() - watch_began_ >= deadline_of(kLasted) - Deadline{}) well();
  const double delay = backoff_.next();
  if (why && code != 410) trouble(*why, !passes(code));
  const bool goes_on = !why || passes(code);
  later(delay, goes_on ? &Informer::open_watch : &Informer::list);
}

// One watch that breaks is nothing to speak of.
void Informer::trouble(const Error& error, bool at_once) {
  if (++failures_ < 2 && !at_once) return;
  if (!std::exchange(troubled_, true)) sink_.troubled(error);
}

void Informer::well() {
  failures_ = 0;
  troubled_ = false;
  backoff_.reset();
}

void Informer::later(double delay, void (Informer::*next)()) {
  loop_.cancel(timer_);
  timer_ = loop_.at(loop_.now() + (deadline_of(delay) - Deadline{}), [this, next] {
    timer_ = 0;
    (this->*next)();
  });
}

}  // namespace capstan::jobs::k8s
