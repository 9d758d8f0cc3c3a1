#include "jobs/k8s/kube_error.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace capstan::jobs::k8s {
namespace {

constexpr size_t kMostWords = 4000;  // of the server, in a message of ours

std::string text_at(const nlohmann::json* status, const char* name) {
  if (!status || !status->is_object()) return {};
  auto found = status->find(name);
  return found != status->end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string server_words(int code, const nlohmann::json* status) {
  std::string words = text_at(status, "message");
  if (words.empty() && status && status->is_string()) words = status->get<std::string>();
  if (words.empty()) words = std::string(reason_of(code));
  if (words.size() > kMostWords) words = words.substr(0, kMostWords) + "…";
  return printable(words);
}

std::string where(const Asked& asked) {
  if (!asked.object.name.empty() && asked.object.space.empty()) return asked.object.name;
  if (!asked.object.name.empty()) return asked.object.space + "/" + asked.object.name;
  if (!asked.resource.namespaced) return "";
  return asked.object.space.empty() ? "in all namespaces" : "in namespace " + asked.object.space;
}

std::string plural_of(const Asked& asked) {
  std::string plural(asked.resource.plural);
  if (!asked.subresource.empty()) plural += "/" + std::string(asked.subresource);
  return plural;
}

Code code_of(int code, std::string_view reason) {
  if (reason == "AlreadyExists") return Code::kAlreadyExists;
  if (code == 429 || code >= 500) return Code::kUnavailable;
  switch (code) {
    case 400:
    case 405:
    case 413:
    case 415:
    case 422: return Code::kInvalidArgument;
    case 401: return Code::kUnauthenticated;
    case 403: return Code::kPermissionDenied;
    case 404: return Code::kNotFound;
    case 409: return Code::kAborted;
    case 410: return Code::kOutOfRange;
    default: return Code::kUnknown;
  }
}

// Quotas and dying namespaces answer 403 too, and no rule helps against them.
bool lacks_right(const std::string& words) {
  return words.find(" cannot ") != words.npos || words == reason_of(403);
}

// The verb that the server names: whoever applies an object that is not there yet has to create it.
std::string_view missing_verb(const Asked& asked, std::string_view words) {
  constexpr std::string_view kBefore = " cannot ", kAfter = " resource ";
  const size_t begin = words.find(kBefore);
  const size_t end = words.find(kAfter, begin == words.npos ? 0 : begin);
  if (begin == words.npos || end == words.npos) return asked.verb;
  words = words.substr(begin + kBefore.size(), end - begin - kBefore.size());
  return words.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == words.npos ? words : asked.verb;
}

std::string role_kind(const Asked& asked) {
  const bool everywhere = !asked.resource.namespaced || asked.object.space.empty();
  return everywhere ? "ClusterRole" : "Role in namespace " + asked.object.space;
}

// Answered without an object's name: the whole kind is unknown.
bool kind_is_missing(const Asked& asked, const nlohmann::json* status) {
  if (asked.resource.group.empty()) return false;
  const bool named = status && status->is_object() && status->contains("details") &&
                     (*status)["details"].is_object() && (*status)["details"].contains("name");
  return !named;
}

std::string remedy(const Asked& asked, int code, const nlohmann::json* status,
                   const std::string& words) {
  if (code == 403 && lacks_right(words)) {
    Asked missing = asked;
    missing.verb = missing_verb(asked, words);
    return fmt::format(". This account needs the rule {} in its {}", rbac_rule(missing),
                       role_kind(asked));
  }
  if (code == 401) {
    return ". The server does not accept these credentials: they may have expired, or belong to "
           "another cluster";
  }
  if (code == 404 && kind_is_missing(asked, status)) {
    const bool ours = asked.resource.plural == kTfJobs.plural;
    return fmt::format(
        ". Is the CRD of {}.{} installed, with version {}?{}", asked.resource.plural,
        asked.resource.group, asked.resource.version,
        ours ? " (capstan validate --print-crd | kubectl apply --server-side -f -)" : "");
  }
  return "";
}

}  // namespace

Asked asked_of(const ApiCall& call) {
  const bool one = !call.object.name.empty();
  const std::string_view verb = [&]() -> std::string_view {
    switch (call.verb) {
      case Verb::kGet: return one ? "get" : "list";
      case Verb::kCreate: return "create";
      case Verb::kUpdate: return "update";
      case Verb::kMergePatch:
      case Verb::kApply: return "patch";
      case Verb::kDelete: break;
    }
    return one ? "delete" : "deletecollection";
  }();
  Asked asked{verb, call.resource, call.subresource, call.object};
  // The address of a creation names the folder only.
  if (call.verb == Verb::kCreate && !one && call.body && call.body->is_object()) {
    const auto metadata = call.body->find("metadata");
    if (metadata != call.body->end()) asked.object.name = text_at(&*metadata, "name");
  }
  return asked;
}

std::string text_of(const Asked& asked) {
  const std::string group =
      asked.resource.group.empty() ? "" : "." + std::string(asked.resource.group);
  const std::string place = where(asked);
  const std::string slash = asked.subresource.empty() ? "" : "/" + std::string(asked.subresource);
  return printable(fmt::format("{} {}{}{}{}{}", asked.verb, asked.resource.plural, group, slash,
                               place.empty() ? "" : " ", place));
}

std::string rbac_rule(const Asked& asked) {
  return fmt::format(R"(- {{apiGroups: ["{}"], resources: ["{}"], verbs: ["{}"]}})",
                     asked.resource.group, plural_of(asked), asked.verb);
}

Error refusal(const Asked& asked, int code, const nlohmann::json* status) {
  const std::string words = server_words(code, status);
  return Error(code_of(code, text_at(status, "reason")),
               fmt::format("cannot {}: the server answers {}: {}{}", text_of(asked), code, words,
                           remedy(asked, code, status, words)));
}

Error not_reached(const Asked& asked, std::string_view why) {
  return unavailable("cannot {}: {}", text_of(asked), printable(why));
}

std::string_view reason_of(int code) {
  switch (code) {
    case 400: return "BadRequest";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "NotFound";
    case 405: return "MethodNotAllowed";
    case 409: return "Conflict";
    case 410: return "Expired";
    case 413: return "RequestEntityTooLarge";
    case 415: return "UnsupportedMediaType";
    case 422: return "Invalid";
    case 429: return "TooManyRequests";
    case 500: return "InternalError";
    case 503: return "ServiceUnavailable";
    case 504: return "Timeout";
    default: return "Unknown";
  }
}

nlohmann::json status_json(int code, std::string_view reason, std::string_view message) {
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"status", "Failure"},
          {"message", message},
          {"reason", reason},
          {"code", code},
          {"metadata", nlohmann::json::object()}};
}

}  // namespace capstan::jobs::k8s
