#include "jobs/local/start_news.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

namespace capstan::jobs {
namespace {

constexpr std::string_view kStarted = "started";
constexpr size_t kLongest = 4000;  // a pipe takes it whole

void tell(Fd& line, std::string_view text) {
  if (line) (void)!write(line.get(), text.data(), std::min(text.size(), kLongest));
  line.reset();
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) != 0;) {
    if (n > 0) text.append(buffer, size_t(n));
    if (n < 0 && errno != EINTR) break;
  }
  return text;
}

}  // namespace

void tell_started(Fd& line) { tell(line, kStarted); }

void tell_failure(Fd& line, const Error& error) {
  tell(line, fmt::format("{} {}", int(error.code()), error.message()));
}

void wait_for_start(int line) {
  const std::string news = read_all(line);
  if (news == kStarted) return;
  const size_t space = news.find(' ');
  if (space == news.npos) throw internal_error("the process that was to hold the job died");
  throw Error(Code(std::atoi(news.c_str())), news.substr(space + 1));
}

}  // namespace capstan::jobs
