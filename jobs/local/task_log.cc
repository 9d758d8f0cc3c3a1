#include "jobs/local/task_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"

namespace capstan::jobs {
namespace {

constexpr size_t kLinesKept = 50;
constexpr size_t kLongestLine = 64 * 1024;

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// The number after `word` and its separators; the word may end a longer name ("global_step").
template <class Number>
std::optional<Number> number_after(std::string_view line, std::string_view word) {
  for (size_t at = 0; at + word.size() < line.size(); ++at) {
    if (!equal_ignoring_case(line.substr(at, word.size()), word)) continue;
    bool inside_a_word = at > 0 && std::isalnum(static_cast<unsigned char>(line[at - 1]));
    std::string_view rest = line.substr(at + word.size());
    if (inside_a_word || is_name_char(rest[0])) continue;
    size_t start = rest.find_first_not_of(" :=\t");
    if (start == std::string_view::npos || start == 0 || start > 4) continue;
    rest.remove_prefix(start);
    Number value{};
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc()) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view as_seen(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  line.remove_prefix(line.rfind('\r') == std::string_view::npos ? 0 : line.rfind('\r') + 1);
  return line;
}

std::string older_log(const std::string& path) { return path + ".1"; }

TaskLog::TaskLog(const std::string& path, OnLine on_line, uint64_t largest)
    : path_(path), largest_(largest), on_line_(std::move(on_line)) {
  if (path.empty()) return;
  open_file(O_TRUNC);
  if (!file_) throw internal_error("cannot write the log {}: {}", path, std::strerror(errno));
  unlink(older_log(path).c_str());  // of an earlier job
}

void TaskLog::open_file(int flags) {
  file_ = Fd(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644));
}

// A full disk must not end the training; the lines still reach the terminal.
void TaskLog::keep(std::string_view bytes) {
  if (path_.empty() || bytes.empty()) return;
  if (!file_) open_file(O_APPEND);
  if (!file_ || !tell_loss()) {
    lost_ += bytes.size();
    return;
  }
  if (!put_all(bytes) || largest_ == 0 || written_ < largest_) return;
  written_ = 0;
  if (rename(path_.c_str(), older_log(path_).c_str()) == 0) open_file(O_EXCL);
}

// False while there is no room even for that.
bool TaskLog::tell_loss() {
  if (lost_ == 0) return true;
  const uint64_t lost = lost_;
  const bool told = put_all(fmt::format("{}[capstan: {} bytes were lost here: {}]\n",
                                        at_line_start_ ? "" : "\n", lost, lost_why_));
  lost_ = told ? 0 : lost;
  return told;
}

// False if the disk took only a part, or nothing; what it did not take is counted.
bool TaskLog::put_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      lost_ += bytes.size();
      lost_why_ = std::strerror(n < 0 ? errno : ENOSPC);
      return false;
    }
    at_line_start_ = bytes[size_t(n) - 1] == '\n';
    bytes.remove_prefix(size_t(n));
    written_ += uint64_t(n);
  }
  return true;
}

void TaskLog::feed(std::string_view bytes) {
  keep(bytes);
  partial_ += bytes;
  size_t start = 0;
  for (size_t end; (end = partial_.find('\n', start)) != std::string::npos; start = end + 1) {
    line(std::string_view(partial_).substr(start, end - start));
  }
  partial_.erase(0, start);
  if (partial_.size() > kLongestLine) cut();
}

void TaskLog::finish() {
  if (!partial_.empty() && !at_line_start_) keep("\n");
  cut();
}

void TaskLog::cut() {
  if (!partial_.empty()) line(partial_);
  partial_.clear();
}

void TaskLog::line(std::string_view text) {
  text = as_seen(text);
  if (last_.size() == kLinesKept) last_.pop_front();
  last_.emplace_back(text);
  on_line_(text);
}

PrintedProgress printed_progress(std::string_view line) {
  PrintedProgress found;
  found.step = number_after<int64_t>(line, "step");
  found.loss = number_after<double>(line, "loss");
  if (!found.loss) found.loss = number_after<double>(line, "cost");
  return found;
}

}  // namespace capstan::jobs
