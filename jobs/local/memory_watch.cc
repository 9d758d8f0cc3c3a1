#include "jobs/local/memory_watch.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "jobs/local/process.h"

namespace capstan::jobs {
namespace {

constexpr auto kInterval = std::chrono::seconds(1);

struct Kin {
  int parent = 0, group = 0;
};

// pid (name) state parent group …; the name may hold anything.
std::optional<Kin> kin_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text, '\0');
  const size_t name_end = text.rfind(')');
  if (name_end == text.npos) return std::nullopt;
  std::istringstream words(text.substr(name_end + 1));
  std::string state;
  Kin kin;
  return words >> state >> kin.parent >> kin.group ? std::optional(kin) : std::nullopt;
}

std::map<int, Kin> all_processes() {
  std::map<int, Kin> all;
  for (int pid : process_ids()) {
    if (const auto kin = kin_of(pid)) all.emplace(pid, *kin);
  }
  return all;
}

// The sum of two lines of a file of /proc, which are in kB; nothing if it has not both.
std::optional<int64_t> sum_of(int process, const char* file, const char* one, const char* other) {
  std::ifstream lines(fmt::format("/proc/{}/{}", process, file));
  int64_t sum = 0, found = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t kilobytes = 0;
    if (!(words >> name >> kilobytes) || (name != one && name != other)) continue;
    sum += kilobytes * 1024;
    ++found;
  }
  return found == 2 ? std::optional(sum) : std::nullopt;
}

int64_t held_by(int process) {
  return sum_of(process, "status", "RssAnon:", "RssShmem:").value_or(0);
}

// What processes share is divided among them. Slow for large ones.
int64_t share_of(int process) {
  const auto share = sum_of(process, "smaps_rollup", "Pss_Anon:", "Pss_Shmem:");
  return share ? *share : held_by(process);
}

// The process, its group, and what descends from either.
std::vector<int> family_of(int process, const std::map<int, Kin>& all) {
  std::set<int> family = {process};
  for (size_t before = 0; before != family.size();) {
    before = family.size();
    for (const auto& [pid, kin] : all) {
      if (kin.group == process || family.contains(kin.parent)) family.insert(pid);
    }
  }
  return {family.begin(), family.end()};
}

template <class Of>
int64_t sum(const std::vector<int>& processes, Of of) {
  int64_t total = 0;
  for (int process : processes) total += of(process);
  return total;
}

}  // namespace

void MemoryWatch::add(int process, int64_t limit, Over over) {
  watched_[process] = {limit, std::move(over)};
  look_again();
}

void MemoryWatch::look_again() {
  if (watched_.empty() || std::exchange(timed_, true)) return;
  timer_ = loop_.at(loop_.now() + kInterval, [this] {
    timed_ = false;
    look();
    look_again();
  });
}

// Children of a fork share what they did not write to, and would be counted twice: who seems to
// have too much is looked at again, more closely.
void MemoryWatch::look() {
  const std::map<int, Kin> all = all_processes();
  const std::map<int, Watched> watched = watched_;
  for (const auto& [process, task] : watched) {
    const std::vector<int> family = family_of(process, all);
    if (sum(family, held_by) <= task.limit) continue;
    const int64_t had = sum(family, share_of);
    if (had <= task.limit) continue;
    forget(process);
    task.over(had);
  }
}

}  // namespace capstan::jobs
