#pragma once

// What a task prints: cut into lines, kept in its file, the last lines kept for the report; and,
// for tasks that have no channel to us, the step and loss that their text mentions.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace capstan::jobs {

class TaskLog {
 public:
  using OnLine = std::function<void(std::string_view)>;

  // An empty path keeps no file. Throws if the file cannot be made. A file of `largest` bytes
  // becomes the older part (older_log), and what that held before is gone; 0: no limit. What a full
  // disk does not take is counted, and said in the file once there is room again.
  TaskLog(const std::string& path, OnLine on_line, uint64_t largest = 0);

  void feed(std::string_view bytes);
  // The task has ended: what it wrote last may lack its newline, which the file then gets.
  void finish();
  std::vector<std::string> last_lines() const { return {last_.begin(), last_.end()}; }

 private:
  void keep(std::string_view bytes);
  bool tell_loss();
  bool put_all(std::string_view bytes);
  void cut();
  void open_file(int flags);
  void line(std::string_view text);

  const std::string path_;
  const uint64_t largest_;
  uint64_t written_ = 0;
  uint64_t lost_ = 0;  // bytes that the disk did not take, since it last took any
  std::string lost_why_;
  bool at_line_start_ = true;
  Fd file_;
  OnLine on_line_;
  std::string partial_;
  std::deque<std::string> last_;
};

// A progress bar rewrites its line: what of it the eye would see.
std::string_view as_seen(std::string_view line);

// Where the older part of a log that grew too large lies.
std::string older_log(const std::string& path);

struct PrintedProgress {
  std::optional<int64_t> step;
  std::optional<double> loss;
};

// Finds "step: 12", "global_step=12", "Step 12", "loss: 0.3", "Cost = 1e-3" in a printed line.
PrintedProgress printed_progress(std::string_view line);

}  // namespace capstan::jobs
