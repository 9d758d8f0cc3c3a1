#pragma once

// Every CAPSTAN_* environment variable, parsed in this one place. They are a contract between a
// launcher and its tasks, not a place for hidden options: docs/guide/settings.md lists them.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/transport.h"

namespace capstan {

// One `name[:port]=address[:port]` of --resolve. Port 0 means "any" on the left, "the same" on the
// right.
struct ResolveRule {
  std::string name;
  uint16_t port = 0;
  std::string address;
  uint16_t to_port = 0;

  bool operator==(const ResolveRule&) const = default;
};

using TransportChoice = TransportKind;

struct Settings {
  // -1: none. A listening socket that the launcher opened for this task; see inherited_listener().
  int listen_fd = -1;
  // -1: none. One end of a socket pair to the launcher; see base/task_channel.h.
  int task_fd = -1;
  // The job's secret: from a descriptor that `capstan run` hands down (base/secret_fd.h), else as
  // text; else the file that holds it.
  std::string secret;
  std::string secret_file;
  TransportChoice transport = TransportChoice::kAuto;
  std::vector<ResolveRule> resolve;
  // JSON object: flag name to text, for tf.app.flags that are defined and not given.
  std::string role_flags;
  // 0: no limit. The session says "stop" once the global step reaches it.
  int64_t max_steps = 0;
  // How many tasks, parameter servers aside, share this host; see kernel_threads().
  int workers_on_host = 1;
  // 0: derived from the cores and workers_on_host.
  int threads = 0;

  // `host:port` after the rules of --resolve; unchanged where none matches.
  std::string resolve_address(std::string_view host_port) const;
};

// Throws InvalidArgument that names the variable, its text and what was expected.
Settings settings_from_environment();

using Lookup = std::function<std::optional<std::string>(const char* name)>;
Settings parse_settings(const Lookup& lookup);

// Where this user's jobs are remembered: CAPSTAN_STATE_DIR, else capstan/ in XDG_STATE_HOME, else
// ~/.local/state/capstan. Empty without a home.
std::string state_dir_from_environment();
std::string parse_state_dir(const Lookup& lookup);

// `name[:port]=address[:port]`; throws InvalidArgument for anything else.
ResolveRule parse_resolve_rule(std::string_view text);
std::string to_string(const ResolveRule& rule);

// The variables above by name, for `capstan doctor`.
std::span<const std::string_view> setting_names();

// The inherited socket if it really listens on `port`, now close-on-exec; else -1, and the caller
// opens its own. A grandchild inherits the variable without the socket, hence the check.
int inherited_listener(const Settings& settings, uint16_t port);

}  // namespace capstan
