#include "jobs/log_reader.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "base/files.h"
#include "base/printable.h"

namespace capstan::jobs {

std::string log_file_name(const TaskId& task) {
  return fmt::format("{}-{}.log", task.job, task.index);
}

LogReader::LogReader(std::string folder, const std::vector<TaskId>& tasks, bool prefixed) {
  for (const TaskId& task : tasks) {
    files_.push_back(std::make_unique<File>());
    File& file = *files_.back();
    file.path = join_path(folder, log_file_name(task));
    file.prefix = prefixed ? fmt::format("[{}] ", task.name()) : "";
    file.lines = std::make_unique<TaskLog>("", [this, &file](std::string_view line) {
      (*sink_)(file.prefix + printable_with_colours(line));
    });
  }
}

void LogReader::read(const Sink& sink) {
  sink_ = &sink;
  char buffer[64 * 1024];
  for (auto& file : files_) {
    if (!file->fd) file->fd = Fd(::open(file->path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file->fd) continue;
    for (ssize_t n; (n = ::read(file->fd.get(), buffer, sizeof buffer)) > 0;) {
      file->lines->feed({buffer, size_t(n)});
    }
  }
  sink_ = nullptr;
}

}  // namespace capstan::jobs
