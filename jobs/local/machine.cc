#include "jobs/local/machine.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace capstan::jobs {

int64_t meminfo(const std::string& field) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::atoll(line.c_str() + field.size() + 1) * 1024;
  }
  return 0;
}

int usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1, int(std::thread::hardware_concurrency()));
}

}  // namespace capstan::jobs
