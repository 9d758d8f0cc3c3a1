#pragma once

// A small logger: one object, handed to whoever has something to say. Lines go to a sink whole, one
// call each, as text ("12:00:01.234 worker:1 warning waiting for ps:0") or as JSON.
//
//   Logger log(stderr_sink(), {.task = "worker:1"});
//   log.info("step {} took {} ms", step, ms);

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace capstan {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kSilent };
enum class LogFormat : uint8_t { kText, kJson };

// "debug", "info", "warning", "error", "silent".
std::string_view log_level_name(LogLevel level);
// Throws InvalidArgument naming the text.
LogLevel log_level_from_name(std::string_view name);

// Receives each line with its newline; is called by one thread at a time and must not log itself.
using LogSink = std::function<void(std::string_view line)>;
// Each line in one write, so that lines of several processes do not mix. Control characters that a
// peer's text may hold never reach the terminal.
LogSink stderr_sink();
// One line of ours to stderr: "capstan: waiting for …".
void print_notice(const std::string& line);

struct LogOptions {
  LogLevel level = LogLevel::kInfo;  // what is below is dropped
  LogFormat format = LogFormat::kText;
  std::string task;   // "worker:1"; empty: no prefix
  std::string trace;  // id of the job or step that lines belong to; empty: none
};

// Thread-safe. Copies share the sink and its lock.
class Logger {
 public:
  Logger();  // says nothing
  explicit Logger(LogSink sink, LogOptions options = {});

  // The same sink under another prefix or level.
  Logger with(LogOptions options) const;
  const LogOptions& options() const { return options_; }
  bool enabled(LogLevel level) const { return shared_ && level >= options_.level; }

  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    log(LogLevel::kDebug, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    log(LogLevel::kInfo, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) const {
    log(LogLevel::kWarning, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    log(LogLevel::kError, format, std::forward<Args>(args)...);
  }
  // A message that is whole already. Line breaks within it start further lines with the same
  // prefix.
  void write(LogLevel level, std::string_view message) const;

 private:
  struct Shared;

  template <class... Args>
  void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
  }

  std::shared_ptr<Shared> shared_;
  LogOptions options_;
};

}  // namespace capstan
