#pragma once

// Times as Kubernetes writes them, UTC. Seconds since 1970.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace capstan::jobs::k8s {

// The wall clock, which is what stands in objects. Never for waiting: it may jump.
using WallClock = std::function<double()>;
double wall_time();

// "2026-11-18T01:38:32Z"
std::string kube_time(double seconds);
// "2026-11-18T01:38:32.123456Z", as Leases have it.
std::string kube_micro_time(double seconds);
// Either of them, and any offset of RFC 3339. Nothing for what is no time.
std::optional<double> parse_kube_time(std::string_view text);

}  // namespace capstan::jobs::k8s
