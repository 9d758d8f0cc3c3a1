#include "base/settings.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/secret_fd.h"

namespace capstan {
namespace {

constexpr std::array<std::string_view, 14> kNames = {
    "CAPSTAN_LISTEN_FD",       "CAPSTAN_TASK_FD",   "CAPSTAN_SECRET_FD", "CAPSTAN_SECRET",
    "CAPSTAN_SECRET_FILE",     "CAPSTAN_TRANSPORT", "CAPSTAN_RESOLVE",   "CAPSTAN_ROLE_FLAGS",
    "CAPSTAN_MAX_STEPS",       "CAPSTAN_THREADS",   "CAPSTAN_JOB_ID",    "CAPSTAN_TASK_ID",
    "CAPSTAN_WORKERS_ON_HOST", "CAPSTAN_STATE_DIR"};

std::string text_of(const Lookup& lookup, const char* name) {
  return lookup(name).value_or(std::string());
}

std::optional<std::string> from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

template <class Int>
Int number_of(const Lookup& lookup, const char* name, Int otherwise, Int least) {
  std::string text = text_of(lookup, name);
  if (text.empty()) return otherwise;
  Int value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < least) {
    throw invalid_argument("{}=\"{}\": expected a whole number of at least {}", name, text, least);
  }
  return value;
}

TransportChoice transport_of(const Lookup& lookup) {
  std::string text = text_of(lookup, "CAPSTAN_TRANSPORT");
  if (text.empty() || text == "auto") return TransportChoice::kAuto;
  if (text == "tcp") return TransportChoice::kTcp;
  if (text == "unix") return TransportChoice::kUnix;
  if (text == "shm") return TransportChoice::kShm;
  throw invalid_argument("CAPSTAN_TRANSPORT=\"{}\": expected tcp, unix, shm or auto", text);
}

std::vector<ResolveRule> rules_of(const Lookup& lookup) {
  std::string text = text_of(lookup, "CAPSTAN_RESOLVE");
  std::vector<ResolveRule> rules;
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find(',', start), text.size());
    rules.push_back(parse_resolve_rule(std::string_view(text).substr(start, end - start)));
    start = end + 1;
  }
  return rules;
}

struct HostPort {
  std::string_view host;
  uint16_t port = 0;  // 0: none given
};

// The port is what follows the last colon, if that is a number; "[::1]:80" keeps its brackets.
std::optional<HostPort> split_host_port(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) {
    return text.empty() ? std::nullopt : std::optional(HostPort{text, 0});
  }
  std::string_view digits = text.substr(colon + 1);
  uint16_t port = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0 || colon == 0) {
    return std::nullopt;
  }
  return HostPort{text.substr(0, colon), port};
}

std::string with_port(std::string_view host, uint16_t port) {
  return port == 0 ? std::string(host) : fmt::format("{}:{}", host, port);
}

}  // namespace

std::string Settings::resolve_address(std::string_view host_port) const {
  std::optional<HostPort> asked = split_host_port(host_port);
  if (!asked) return std::string(host_port);
  for (const ResolveRule& rule : resolve) {
    bool port_fits = rule.port == 0 || rule.port == asked->port;
    if (rule.name != asked->host || !port_fits) continue;
    return with_port(rule.address, rule.to_port != 0 ? rule.to_port : asked->port);
  }
  return std::string(host_port);
}

ResolveRule parse_resolve_rule(std::string_view text) {
  size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    auto from = split_host_port(text.substr(0, equals));
    auto to = split_host_port(text.substr(equals + 1));
    if (from && to) {
      return {std::string(from->host), from->port, std::string(to->host), to->port};
    }
  }
  throw invalid_argument(
      "--resolve {}: expected name[:port]=address[:port], as in pc-01:2222=127.0.0.1:2222", text);
}

std::string to_string(const ResolveRule& rule) {
  return with_port(rule.name, rule.port) + "=" + with_port(rule.address, rule.to_port);
}

Settings parse_settings(const Lookup& lookup) {
  Settings s;
  s.listen_fd = number_of<int>(lookup, "CAPSTAN_LISTEN_FD", -1, 0);
  s.task_fd = number_of<int>(lookup, "CAPSTAN_TASK_FD", -1, 0);
  s.secret = secret_of_fd(number_of<int>(lookup, "CAPSTAN_SECRET_FD", -1, 0));
  if (s.secret.empty()) s.secret = text_of(lookup, "CAPSTAN_SECRET");
  s.secret_file = text_of(lookup, "CAPSTAN_SECRET_FILE");
  s.transport = transport_of(lookup);
  s.resolve = rules_of(lookup);
  s.role_flags = text_of(lookup, "CAPSTAN_ROLE_FLAGS");
  s.max_steps = number_of<int64_t>(lookup, "CAPSTAN_MAX_STEPS", 0, 0);
  s.workers_on_host = number_of<int>(lookup, "CAPSTAN_WORKERS_ON_HOST", 1, 1);
  s.threads = number_of<int>(lookup, "CAPSTAN_THREADS", 0, 0);
  return s;
}

Settings settings_from_environment() { return parse_settings(from_environment); }

std::string parse_state_dir(const Lookup& lookup) {
  if (std::string own = text_of(lookup, "CAPSTAN_STATE_DIR"); !own.empty()) return own;
  if (std::string xdg = text_of(lookup, "XDG_STATE_HOME"); !xdg.empty()) return xdg + "/capstan";
  const std::string home = text_of(lookup, "HOME");
  return home.empty() ? "" : home + "/.local/state/capstan";
}

std::string state_dir_from_environment() { return parse_state_dir(from_environment); }

std::span<const std::string_view> setting_names() { return kNames; }

int inherited_listener(const Settings& settings, uint16_t port) {
  int fd = settings.listen_fd;
  int listens = 0;
  socklen_t size = sizeof listens;
  if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens) {
    return -1;
  }
  sockaddr_in address{};
  size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return -1;
  if (address.sin_family != AF_INET || ntohs(address.sin_port) != port) return -1;
  return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

}  // namespace capstan
