#include "jobs/report.h"

#include <fmt/format.h>
#include <string.h>

#include "jobs/memory_size.h"

namespace capstan::jobs {

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string end_text(const TaskReport& task) {
  if (task.over_memory()) {
    return fmt::format("over its memory limit of {}", binary_bytes(task.memory_limit));
  }
  return task.signal ? signal_name(task.signal) : fmt::format("exit code {}", task.exit_code);
}

}  // namespace capstan::jobs
