#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "base/nearest.h"
#include "base/settings.h"
#include "base/version.h"
#include "jobs/local/held_port.h"
#include "jobs/local/machine.h"
#include "jobs/report_table.h"
#include "main/doctor.h"
#include "main/installation.h"

namespace capstan::cli {
namespace {

constexpr int64_t kGigabyte = 1'000'000'000;

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "no limit" : std::to_string(limit);
}

rlimit limit_of(int resource) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return limit;
}

}  // namespace

Check check_versions() {
  utsname system{};
  uname(&system);
  std::string text = fmt::format("capstan {}, gcc {}.{}, C library {}, Linux {}", version(),
                                 __GNUC__, __GNUC_MINOR__, gnu_get_libc_version(), system.release);
  return {"versions", Health::kGood, text};
}

Check check_processor() {
  std::string best = "SSE4.2";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = "AVX2";
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) best = "AVX-512";
  std::string text = fmt::format("{} cores, {}", std::thread::hardware_concurrency(), best);
  if (__builtin_cpu_supports("sse4.2")) return {"processor", Health::kGood, text};
  return {"processor", Health::kBad, "no SSE4.2: x86-64-v2 is the least we run on"};
}

Check check_memory() {
  int64_t available = jobs::meminfo("MemAvailable"), total = jobs::meminfo("MemTotal");
  std::string text =
      fmt::format("{} free of {}", jobs::human_bytes(available), jobs::human_bytes(total));
  std::string group = first_line("/sys/fs/cgroup/memory.max");
  if (!group.empty() && group != "max") {
    text += ", limited to " + jobs::human_bytes(std::atoll(group.c_str())) + " by its cgroup";
  }
  return {"memory", available < kGigabyte ? Health::kWarning : Health::kGood, text};
}

Check check_ports() {
  try {
    jobs::HeldPort held = jobs::hold_free_port();
    std::string range = first_line("/proc/sys/net/ipv4/ip_local_port_range");
    std::replace(range.begin(), range.end(), '\t', '-');
    return {"ports", Health::kGood, fmt::format("127.0.0.1 listens; free ports {}", range)};
  } catch (const Error& e) {
    return {"ports", Health::kBad, e.message()};
  }
}

Check check_files_limit() {
  rlimit limit = limit_of(RLIMIT_NOFILE);
  std::string text = fmt::format("{} open files", limit_text(limit.rlim_cur));
  if (limit.rlim_cur >= 1024) return {"files", Health::kGood, text};
  return {"files", Health::kWarning, text + "; raise it with ulimit -n 4096"};
}

Check check_processes_limit() {
  rlimit limit = limit_of(RLIMIT_NPROC);
  std::string text = fmt::format("{} processes", limit_text(limit.rlim_cur));
  if (limit.rlim_cur >= 256) return {"processes", Health::kGood, text};
  return {"processes", Health::kWarning, text + "; raise it with ulimit -u 4096"};
}

Check check_shared_memory() {
  Fd memory(memfd_create("capstan-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ftruncate(memory.get(), 1 << 20) != 0) {
    return {"shared memory", Health::kWarning,
            fmt::format("memfd: {}; tasks of one host will use sockets", std::strerror(errno))};
  }
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return {"shared memory", Health::kWarning,
            fmt::format("Unix sockets: {}; tasks will use TCP", std::strerror(errno))};
  }
  Fd one(pair[0]), other(pair[1]);
  return {"shared memory", Health::kGood, "memfd and Unix sockets work"};
}

Check check_clock() {
  timex state{};
  bool synchronised = adjtimex(&state) >= 0 && (state.status & STA_UNSYNC) == 0;
  std::string source =
      first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string text = fmt::format("source {}, {}", source.empty() ? "unknown" : source,
                                 synchronised ? "synchronised" : "not synchronised");
  // One host needs no common time; several compare their logs by it.
  return {"clock", synchronised ? Health::kGood : Health::kWarning,
          synchronised ? text : text + " (matters only between hosts: install chrony)"};
}

Check check_disk(const std::string& name, const std::string& folder) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) {
    return {name, Health::kBad, fmt::format("{}: {}", folder, std::strerror(errno))};
  }
  auto free = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  std::string text = fmt::format("{} free in {}", jobs::human_bytes(free), folder);
  if (access(folder.c_str(), W_OK) != 0) return {name, Health::kWarning, text + ", not writable"};
  return {name, free < kGigabyte ? Health::kWarning : Health::kGood, text};
}

Check check_settings() {
  std::vector<std::string> known(setting_names().begin(), setting_names().end());
  std::string set;
  for (char** entry = environ; *entry; ++entry) {
    std::string name(*entry, std::strcspn(*entry, "="));
    if (!name.starts_with("CAPSTAN_")) continue;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return {"settings", Health::kWarning,
              fmt::format("{} means nothing{}", name, did_you_mean(name, known))};
    }
    set += (set.empty() ? "" : ", ") + name;
  }
  try {
    settings_from_environment();
  } catch (const Error& e) {
    return {"settings", Health::kBad, e.message()};
  }
  return {"settings", Health::kGood, set.empty() ? "no CAPSTAN_* is set" : set};
}

Check check_python(const std::string& asked) {
  try {
    Installation installation = find_installation();
    std::string python = find_python(asked, installation);
    std::string quoted = "'" + python + "'";
    std::string command =
        quoted +
        " -c 'import sys; print(\"Python %d.%d.%d\" % sys.version_info[:3], end=\"\"); "
        "import numpy; print(\", numpy\", numpy.__version__, end=\"\")' 2>/dev/null";
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[256] = {};
    size_t n = pipe ? fread(buffer, 1, sizeof buffer - 1, pipe) : 0;
    int status = pipe ? pclose(pipe) : -1;
    std::string text = fmt::format("{} ({})", std::string(buffer, n), python);
    if (n == 0) return {"python", Health::kBad, python + " does not start"};
    if (status != 0) return {"python", Health::kBad, text + ": no numpy; pip install numpy there"};
    if (installation.python_path.empty()) {
      return {"python", Health::kWarning,
              text + ", but our Python side is not beside this program"};
    }
    return {"python", Health::kGood, text};
  } catch (const Error& e) {
    return {"python", Health::kBad, e.message()};
  }
}

}  // namespace capstan::cli
