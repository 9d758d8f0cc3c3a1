#include "jobs/local/keeper.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "jobs/local/children.h"
#include "jobs/local/pipes.h"
#include "jobs/local/process.h"

namespace capstan::jobs {
namespace {

namespace fs = std::filesystem;

// On the line: "+folder" to keep, "-folder" to forget, "q" before the end; a 0 after each.
constexpr char kKeep = '+', kForget = '-', kLeave = 'q';

struct Heard {
  std::set<std::string> folders;
  bool left = false;
};

void hear(Heard& heard, const std::string& words) {
  if (words[0] == kKeep) heard.folders.insert(words.substr(1));
  if (words[0] == kForget) heard.folders.erase(words.substr(1));
  if (words[0] == kLeave) heard.left = true;
}

// Until nobody is at the other end. Words that were cut are of a folder that is not made yet.
Heard listen(int line) {
  Heard heard;
  std::string words;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(line, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return heard;
    for (char c : std::string_view(buffer, size_t(n))) {
      if (c != '\0') {
        words.push_back(c);
      } else if (!words.empty()) {
        hear(heard, std::exchange(words, {}));
      }
    }
  }
}

// The keeper of a job may be at the same folder.
void remove_folder(const std::string& folder) {
  for (int tries = 0; tries < 100; ++tries) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (!fs::exists(fs::symlink_status(folder, error))) return;
    poll(nullptr, 0, 20);
  }
}

[[noreturn]] void watch(int line, const std::string& entry, const std::function<void()>& sweep) {
  setsid();  // a Ctrl-C in the terminal is not for us
  // Above all the held ports: a listening socket left here would outlive its task.
  dup2(line, 0);
  close_range(1, ~0U, 0);
  const Heard heard = listen(0);
  if (heard.left) _exit(0);
  kill_processes_with(entry);
  sweep();
  for (const std::string& folder : heard.folders) remove_folder(folder);
  _exit(0);
}

}  // namespace

Keeper::Keeper(const std::string& entry, const std::function<void()>& sweep) {
  Fd reading = make_pipe(line_);
  pid_ = fork_child();
  if (pid_ < 0) throw resource_exhausted("cannot fork: {}", std::strerror(errno));
  if (pid_ == 0) {
    line_.reset();
    watch(reading.get(), entry, sweep);
  }
}

Keeper::~Keeper() {
  if (!tell(kLeave, "")) kill(pid_, SIGKILL);
  line_.reset();
  wait_for_child(pid_);
}

// False: the watcher is gone.
bool Keeper::tell(char what, const std::string& folder) {
  std::string words = what + folder;
  words.push_back('\0');
  std::lock_guard lock(mutex_);
  for (std::string_view rest = words; !rest.empty();) {
    const ssize_t n = write(line_.get(), rest.data(), rest.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) rest.remove_prefix(size_t(n));
  }
  return true;
}

}  // namespace capstan::jobs
