// What a Kubernetes API server answers: lists and watches for an informer, refusals, Leases, times.
// Input: one byte that says which of them, for a watch one that says how it is cut, then its text.

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/random.h"
#include "fuzz/fuzz.h"
#include "jobs/fake_platform.h"
#include "jobs/k8s/informer.h"
#include "jobs/k8s/kube_error.h"
#include "jobs/k8s/kube_time.h"
#include "jobs/k8s/lease.h"
#include "jobs/k8s/query.h"
#include "jobs/k8s/stream_lines.h"

namespace capstan {
namespace {

using namespace jobs;
using namespace jobs::k8s;
using nlohmann::json;

class NoWatch : public Watch {};

// Answers every call with the same text.
class OneAnswer : public KubeApi {
 public:
  OneAnswer(Loop& loop, json body) : loop_(loop), body_(std::make_shared<json>(std::move(body))) {}
  void call(ApiCall, OnAnswer done) override {
    if (++calls_ > 20) return;
    loop_.post([body = body_, done] { done({.code = 200, .body = body}); });
  }
  std::unique_ptr<Watch> watch(Resource, std::string, std::string, WatchSink& opened) override {
    sink = &opened;
    return std::make_unique<NoWatch>();
  }
  std::unique_ptr<Watch> read_log(ObjectName, std::string, LogFollower&) override {
    return std::make_unique<NoWatch>();
  }
  WatchSink* sink = nullptr;

 private:
  Loop& loop_;
  std::shared_ptr<const json> body_;
  int calls_ = 0;
};

// Holds an informer to its word: what is removed was there.
class Checked : public InformerSink {
 public:
  void added_or_changed(json&& object) override {
    const json& metadata = object.at("metadata");
    const auto text = [&](const char* name) {
      auto found = metadata.find(name);
      return found != metadata.end() && found->is_string() ? found->get<std::string>() : "";
    };
    known_[{text("namespace"), text("name")}] = text("uid");
  }
  void removed(const ObjectName& name, std::string_view uid) override {
    auto found = known_.find(name);
    if (found == known_.end() || found->second != uid) __builtin_trap();
    known_.erase(found);
  }
  void synced() override {}
  void troubled(const Error&) override {}
  size_t size() const { return known_.size(); }

 private:
  std::map<ObjectName, std::string> known_;
};

class NoLead : public LeaseHolder {
 public:
  void leads() override {}
  void leads_no_more(const Error&) override {}
  void follows(const std::string&) override {}
  void troubled(const Error&) override {}
};

json empty_list() { return {{"metadata", {{"resourceVersion", "1"}}}, {"items", json::array()}}; }

void inform(json list, std::string_view stream, size_t piece) {
  FakeLoop loop;
  OneAnswer api(loop, std::move(list));
  SeededRandom random(1);
  Checked sink;
  Informer informer(api, loop, random, kPods, {}, sink);
  informer.start();
  loop.run_posted();
  LineCutter lines(100'000);
  for (; api.sink && !stream.empty(); stream.remove_prefix(std::min(piece, stream.size()))) {
    lines.feed(stream.substr(0, piece), [&](std::string_view line) {
      read_watch_line(line, [&](std::string_view type, json&& object) {
        api.sink->event(type, std::move(object));
      });
      return true;
    });
  }
  if (informer.size() != sink.size()) __builtin_trap();
}

void elect(json lease) {
  FakeLoop loop;
  OneAnswer api(loop, std::move(lease));
  SeededRandom random(1);
  NoLead holder;
  LeaderElection election(api, loop, random, {.lease = {"a", "b"}, .identity = "me"}, holder);
  election.start();
  loop.advance(10);
}

void read_time(std::string_view text) {
  const auto time = parse_kube_time(text);
  if (time && *time > 0 && !parse_kube_time(kube_micro_time(*time))) __builtin_trap();
}

void select(std::string_view text) {
  const Query query = parse_query(text);
  const json object = {{"metadata", {{"labels", {{"a", "b"}}}}}};
  Selector(query_value(query, "labelSelector"), query_value(query, "fieldSelector"))
      .matches(object);
}

void run(std::string_view input) {
  const std::string_view text = input.substr(1);
  switch (input[0] % 6) {
    case 0: inform(parse_answer(text), "", 1); break;
    case 1:
      if (!text.empty()) inform(empty_list(), text.substr(1), 1 + size_t(uint8_t(text[0])));
      break;
    case 2: {
      const json status = parse_answer(text);
      (void)refusal({"list", kTfJobs, "status", {"a", ""}}, 403, &status);
      (void)refusal({"get", kTfJobs, "", {"a", "b"}}, 404, &status);
      break;
    }
    case 3: elect(parse_answer(text)); break;
    case 4: read_time(text); break;
    default: select(text);
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  const std::string pod =
      R"({"metadata":{"name":"p","namespace":"a","uid":"u1","resourceVersion":"5"}})";
  const std::string same_name =
      R"({"metadata":{"name":"p","namespace":"a","uid":"u2","resourceVersion":"6"}})";
  const auto event = [](const char* type, const std::string& object) {
    return std::string(R"({"type":")") + type + R"(","object":)" + object + "}\n";
  };
  return {
      std::string(1, '\0') + R"({"metadata":{"resourceVersion":"7","continue":""},"items":[)" +
          pod + "," + same_name + "]}",
      "\1\7" + event("ADDED", pod) + event("MODIFIED", same_name) +
          event("BOOKMARK", R"({"metadata":{"resourceVersion":"8"}})") +
          event("DELETED", same_name),
      "\2"
      R"({"kind":"Status","code":403,"reason":"Forbidden","message":"User cannot list","details":{"name":"x"}})",
      "\3"
      R"({"metadata":{"resourceVersion":"3"},"spec":{"holderIdentity":"x","leaseDurationSeconds":3,"leaseTransitions":2,"renewTime":"2026-01-01T00:00:00.000000Z"}})",
      "\4"
      "2026-01-31T12:00:00.123456+01:30",
      "\5"
      "labelSelector=a%3Db,c+in+(d,e),!f&fieldSelector=metadata.name!%3Dx"};
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    capstan::run({reinterpret_cast<const char*>(data), size});
  } catch (const capstan::Error&) {  // refusing is right; crashing is not
  }
  return 0;
}
