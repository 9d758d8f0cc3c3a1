#include "jobs/local/children.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>

namespace capstan::jobs {
namespace {

// As the kernel's own list: one for the process, whoever of its threads has started them.
struct Children {
  std::mutex mutex;
  std::set<int> pids;
};

Children& own() {
  static Children children;
  return children;
}

bool is_own(int pid) {
  std::lock_guard lock(own().mutex);
  return own().pids.contains(pid);
}

}  // namespace

int fork_child() {
  // Held over the fork, or a child that ends at once would be taken for an orphan.
  std::lock_guard lock(own().mutex);
  const int pid = fork();
  if (pid == 0) own().pids.clear();
  if (pid > 0) own().pids.insert(pid);
  return pid;
}

int wait_for_child(int pid, rusage* usage) {
  int status = 0;
  while (wait4(pid, &status, 0, usage) < 0 && errno == EINTR) {
  }
  std::lock_guard lock(own().mutex);
  own().pids.erase(pid);
  return status;
}

void reap_orphans() {
  for (;;) {
    siginfo_t info{};
    const bool any = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    // One of ours is about to be waited for, and hides what ended after it until then.
    if (!any || is_own(info.si_pid)) return;
    waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

}  // namespace capstan::jobs
