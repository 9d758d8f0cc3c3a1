#pragma once

// Reads the logs that tasks of a job leave in a folder, while they are being written.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "jobs/job_spec.h"
#include "jobs/local/task_log.h"

namespace capstan::jobs {

class LogReader {
 public:
  using Sink = std::function<void(std::string_view line)>;

  // Each line begins with what `prefix_of` gives for its task, as in "[ps/0] ".
  LogReader(std::string folder, const std::vector<TaskId>& tasks,
            const std::function<std::string(const TaskId&)>& prefix_of);

  // What has come since the last call, fit for a terminal. A line that has not ended is shown when
  // it has, or when it is very long.
  void read(const Sink& sink);
  // Nothing more is written: shows what has not ended, too.
  void finish(const Sink& sink);

 private:
  struct File {
    std::string path, prefix;
    Fd fd;
    bool begun = false;
    std::unique_ptr<TaskLog> lines;
  };

  void read_to_the_end(File& file);

  std::vector<std::unique_ptr<File>> files_;
  const Sink* sink_ = nullptr;
};

// "worker-1.log"
std::string log_file_name(const TaskId& task);

}  // namespace capstan::jobs
