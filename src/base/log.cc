#include "base/log.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <mutex>

#include "base/error.h"
#include "base/printable.h"

namespace capstan {
namespace {

constexpr std::string_view kLevelNames[] = {"debug", "info", "warning", "error", "silent"};

struct Now {
  std::tm local;
  int64_t seconds;
  int milliseconds;
};

Now now() {
  auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  Now out{{}, ms / 1000, int(ms % 1000)};
  std::time_t seconds = std::time_t(out.seconds);
  localtime_r(&seconds, &out.local);
  return out;
}

std::string text_line(LogLevel level, const LogOptions& options, std::string_view message) {
  Now t = now();
  std::string line = fmt::format("{:02}:{:02}:{:02}.{:03} ", t.local.tm_hour, t.local.tm_min,
                                 t.local.tm_sec, t.milliseconds);
  if (!options.task.empty()) line += options.task + " ";
  // What is as usual needs no word.
  if (level != LogLevel::kInfo) line += fmt::format("{} ", log_level_name(level));
  line += message;
  if (!options.trace.empty()) line += fmt::format(" [{}]", options.trace);
  return line + "\n";
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (uint8_t(c) < 0x20) {
          out += fmt::format("\\u{:04x}", uint8_t(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append_json_field(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out += fmt::format(",\"{}\":", name);
  append_json_string(out, value);
}

std::string json_line(LogLevel level, const LogOptions& options, std::string_view message) {
  Now t = now();
  std::string line = fmt::format("{{\"time\":{}.{:03},\"level\":\"{}\"", t.seconds, t.milliseconds,
                                 log_level_name(level));
  append_json_field(line, "task", options.task);
  append_json_field(line, "trace", options.trace);
  line += ",\"message\":";
  append_json_string(line, message);
  return line + "}\n";
}

std::string text_lines(LogLevel level, const LogOptions& options, std::string_view message) {
  std::string lines;
  for (size_t end; (end = message.find('\n')) != message.npos; message.remove_prefix(end + 1)) {
    lines += text_line(level, options, message.substr(0, end));
  }
  if (!message.empty() || lines.empty()) lines += text_line(level, options, message);
  return lines;
}

}  // namespace

std::string_view log_level_name(LogLevel level) { return kLevelNames[size_t(level)]; }

LogLevel log_level_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kLevelNames); ++i) {
    if (kLevelNames[i] == name) return LogLevel(i);
  }
  throw invalid_argument(
      "'{}' is not a log level; there are debug, info, warning, error and silent", name);
}

LogSink stderr_sink() {
  return [](std::string_view text) {
    std::string safe = printable(text);
    std::string_view line = safe;
    while (!line.empty()) {
      ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
      // A reader that is gone must not end the program that talks to it.
      if (written < 0 && errno != EINTR) return;
      if (written > 0) line.remove_prefix(size_t(written));
    }
  };
}

void print_notice(const std::string& line) { stderr_sink()("capstan: " + line + "\n"); }

struct Logger::Shared {
  std::mutex mutex;
  LogSink sink;
};

Logger::Logger() = default;

Logger::Logger(LogSink sink, LogOptions options) : options_(std::move(options)) {
  shared_ = std::make_shared<Shared>();
  shared_->sink = std::move(sink);
}

Logger Logger::with(LogOptions options) const {
  Logger out = *this;
  out.options_ = std::move(options);
  return out;
}

void Logger::write(LogLevel level, std::string_view message) const {
  if (!enabled(level)) return;
  std::string lines = options_.format == LogFormat::kJson ? json_line(level, options_, message)
                                                          : text_lines(level, options_, message);
  std::lock_guard lock(shared_->mutex);
  shared_->sink(lines);
}

}  // namespace capstan
