#include "jobs/local/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "jobs/local/children.h"
#include "jobs/local/pipes.h"
#include "jobs/report.h"

namespace capstan::jobs {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

void reset_signals() {
  for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

constexpr int kNoCgroup = -1;  // where else an errno is told

// Runs in the child: only calls that are safe between fork and exec. Returns why it failed.
int become(char* const* argv, char* const* env, const ProcessOptions& options, int parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kill(getpid(), SIGKILL));
  reset_signals();
  if (options.cgroup >= 0 && write(options.cgroup, "0", 1) != 1) return kNoCgroup;
  int input = options.input >= 0 ? options.input : open("/dev/null", O_RDONLY);
  if (input < 0 || dup2(input, 0) < 0 || dup2(options.output, 1) < 0 || dup2(1, 2) < 0)
    return errno;
  if (!options.cwd.empty() && chdir(options.cwd.c_str()) != 0) return errno;
  for (int fd : options.inherit) fcntl(fd, F_SETFD, 0);
  execvpe(argv[0], argv, env);
  return errno;
}

[[noreturn]] void throw_exec_error(const std::string& program, int error) {
  if (error == kNoCgroup) throw unavailable("{}: it cannot enter its control group", program);
  // Where the file is there it is what its first line names that is not.
  const bool there = program.find('/') != program.npos && access(program.c_str(), F_OK) == 0;
  if (error == ENOENT && there) {
    throw not_found("{}: the interpreter that its first line names is not there", program);
  }
  if (error == ENOENT) throw not_found("{}: no such program", program);
  if (error == EACCES) throw permission_denied("{}: not executable (chmod +x it?)", program);
  for (int lack : {EAGAIN, ENOMEM, EMFILE, ENFILE}) {
    if (error != lack) continue;
    throw resource_exhausted("{}: cannot be started: {}; see capstan doctor", program,
                             std::strerror(error));
  }
  throw internal_error("{}: cannot be started: {}", program, std::strerror(error));
}

bool has_entry(const std::filesystem::path& environ, const std::string& entry) {
  std::ifstream file(environ, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\0', at), text.size());
    if (text.compare(at, end - at, entry) == 0) return true;
    at = end + 1;
  }
  return false;
}

std::vector<int> processes_with(const std::string& entry) {
  std::vector<int> found;
  for (int pid : process_ids()) {
    if (pid != getpid() && has_entry(fmt::format("/proc/{}/environ", pid), entry)) {
      found.push_back(pid);
    }
  }
  return found;
}

}  // namespace

Process::Process(const ProcessOptions& options) {
  std::vector<char*> argv = pointers(options.argv), env = pointers(options.env);
  Fd writing;
  Fd reading = make_pipe(writing);
  int parent = getpid();
  pid_ = fork_child();
  if (pid_ < 0) throw_exec_error(options.argv[0], errno);
  if (pid_ == 0) {
    int error = become(argv.data(), env.data(), options, parent);
    ssize_t ignored = write(writing.get(), &error, sizeof error);
    _exit(ignored == sizeof error ? 127 : 126);
  }
  setpgid(pid_, pid_);
  writing.reset();
  int error = 0;
  if (read(reading.get(), &error, sizeof error) == sizeof error) {  // closed by a good exec
    wait_for_child(pid_);
    throw_exec_error(options.argv[0], error);
  }
  wait_fd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));  // close-on-exec by itself
  if (!wait_fd_) {
    int failure = errno;
    signal_group(SIGKILL);
    wait_for_child(pid_);
    throw_exec_error(options.argv[0], failure);
  }
}

Process::~Process() {
  if (pid_ < 0) return;
  signal_group(SIGKILL);
  reap();
}

void Process::signal_group(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

ProcessEnd Process::reap() {
  // The zombie still holds the group's number, so this cannot hit a stranger.
  pollfd ended{wait_fd_.get(), POLLIN, 0};
  poll(&ended, 1, -1);
  signal_group(SIGKILL);
  rusage usage{};
  const int status = wait_for_child(std::exchange(pid_, -1), &usage);
  int signal = WIFEXITED(status) ? 0 : WTERMSIG(status);
  int code = signal ? kExitSignalBase + signal : WEXITSTATUS(status);
  return {code, signal, usage.ru_maxrss * int64_t{1024}};
}

std::string job_mark(const std::string& job_id) { return "CAPSTAN_JOB_ID=" + job_id; }

std::string task_mark(const std::string& job_id, const std::string& task) {
  return fmt::format("CAPSTAN_TASK_ID={}/{}", job_id, task);
}

int64_t resident_memory(int pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  int64_t size = 0, resident = 0;
  return file >> size >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

std::vector<int> process_ids() {
  std::vector<int> ids;
  std::error_code ignored;  // processes come and go while we look
  for (const auto& dir : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = dir.path().filename();
    const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
    if (is_process) ids.push_back(std::stoi(name));
  }
  return ids;
}

void kill_processes_with(const std::string& entry) {
  // A process may fork while we look, hence rounds; a zombie has no environment and ends them.
  for (int round = 0; round < 100; ++round) {
    std::vector<int> found = processes_with(entry);
    if (found.empty()) return;
    for (int pid : found) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, WNOHANG);
    }
    poll(nullptr, 0, 5);
  }
}

}  // namespace capstan::jobs
