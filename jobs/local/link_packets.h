#pragma once

// What crosses between a platform's process and its controller's: jobs/local/platform_link.h.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/platform.h"

namespace capstan::jobs {

struct StatusPacket {
  TaskStatus status;
  std::vector<std::string> last_lines;  // of a task that has ended
};

// Bounded, so that it fits into a packet.
std::string to_json(const StatusPacket& packet);
// Nothing if it is none.
std::optional<StatusPacket> status_from_json(std::string_view text);

struct Request {
  enum class What { kStart, kAsk, kKill, kCleanUp } what = What::kStart;
  TaskId task;
  int attempt = 0;
};

std::string to_json(const Request& request);
std::optional<Request> request_from_json(std::string_view text);

}  // namespace capstan::jobs
