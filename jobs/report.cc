#include "jobs/report.h"

#include <fmt/format.h>
#include <string.h>

#include "jobs/memory_size.h"
#include "jobs/text_table.h"

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

std::string progress_text(const Progress& progress, double steps_per_second, int live_tasks) {
  std::string text;
  const double rate = steps_per_second;
  if (progress.step > 0) {
    text += fmt::format("step {}", progress.step);
    if (progress.last_step > 0) text += fmt::format("/{}", progress.last_step);
    text += "  ";
  }
  if (progress.loss) text += fmt::format("loss {:.5g}  ", *progress.loss);
  if (rate > 0) text += fmt::format("{:.{}f} steps/s  ", rate, rate < 10 ? 1 : 0);
  text += fmt::format("{} task{}", live_tasks, live_tasks == 1 ? "" : "s");
  const int64_t left = progress.last_step - progress.step;
  if (rate > 0 && left > 0) text += "  ETA " + duration_text(double(left) / rate);
  return text;
}

}  // namespace capstan::jobs
