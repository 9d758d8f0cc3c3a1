#pragma once

// One line that a task sends over its channel (base/task_channel.h), as the launcher reads it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/platform.h"

namespace capstan::jobs {

struct TaskEvent {
  std::optional<int64_t> step;
  std::optional<double> loss;
  std::optional<int64_t> last_step;
  std::optional<uint16_t> port;
  std::optional<std::string> waits_for;  // whom it needs to go on; empty: nobody any more
  bool serves = false;                   // does nothing else from now on
  bool trained = false;                  // and has trained before
  std::optional<TaskError> error;
};

// Never throws: what is not ours, or has a field of the wrong kind, is left out. A program may have
// found the descriptor and written anything.
TaskEvent task_event(std::string_view line);

}  // namespace capstan::jobs
