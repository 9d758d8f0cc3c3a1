#include "jobs/local/log_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/printable.h"

namespace capstan::jobs {
namespace {

Fd open_to_read(const std::string& path) { return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

// The file that we read was set aside, and a new one has its name.
bool is_another(int fd, const std::string& path) {
  struct stat ours {
  }, theirs{};
  return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &theirs) == 0 &&
         ours.st_ino != theirs.st_ino;
}

}  // namespace

std::string log_file_name(const TaskId& task) {
  return fmt::format("{}-{}.log", task.job, task.index);
}

LogReader::LogReader(std::string folder, const std::vector<TaskId>& tasks,
                     const std::function<std::string(const TaskId&)>& prefix_of) {
  for (const TaskId& task : tasks) {
    files_.push_back(std::make_unique<File>());
    File& file = *files_.back();
    file.path = join_path(folder, log_file_name(task));
    file.prefix = prefix_of(task);
    file.lines = std::make_unique<TaskLog>("", [this, &file](std::string_view line) {
      (*sink_)(file.prefix + printable_with_colours(line));
    });
  }
}

void LogReader::read(const Sink& sink) {
  sink_ = &sink;
  for (auto& file : files_) {
    if (!std::exchange(file->begun, true)) {
      file->fd = open_to_read(older_log(file->path));
      read_to_the_end(*file);
      file->fd.reset();
    }
    read_to_the_end(*file);
    if (!file->fd || is_another(file->fd.get(), file->path)) {
      file->fd = open_to_read(file->path);
      read_to_the_end(*file);
    }
  }
  sink_ = nullptr;
}

void LogReader::finish(const Sink& sink) {
  read(sink);
  sink_ = &sink;
  for (auto& file : files_) file->lines->finish();
  sink_ = nullptr;
}

void LogReader::read_to_the_end(File& file) {
  if (!file.fd) return;
  char buffer[64 * 1024];
  for (ssize_t n; (n = ::read(file.fd.get(), buffer, sizeof buffer)) > 0;) {
    file.lines->feed({buffer, size_t(n)});
  }
}

}  // namespace capstan::jobs
