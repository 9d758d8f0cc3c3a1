#pragma once

// A task's memory kept below a limit by the kernel: a control group (version 2) of its own, beside
// the one that we are in, where that can be had. Nothing is made to find that out.

#include <cstdint>
#include <string>

#include "base/fd.h"

namespace capstan::jobs {

// Where the system tells of control groups; tests have their own.
struct CgroupFiles {
  std::string own = "/proc/self/cgroup";
  std::string mounts = "/proc/self/mountinfo";
};

struct CgroupPlace {
  std::string folder;   // groups of tasks are made in it; empty: there is no such place
  std::string why_not;  // and why, for people
};

// The folder above our own group, if we may make groups in it and they have a say over memory.
CgroupPlace find_cgroup_place(const CgroupFiles& files = {});

// Of one attempt at a task. What lives in it when this goes is killed.
class MemoryCgroup {
 public:
  // Throws Unavailable, with the reason, if it cannot be made.
  MemoryCgroup(std::string folder, int64_t limit);
  ~MemoryCgroup();
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;

  // A process that writes "0" to it is in the group.
  int entrance() const { return entrance_.get(); }
  // The kernel killed something here for lack of memory.
  bool ran_out() const;

 private:
  const std::string folder_;
  int64_t kills_before_ = 0;
  Fd entrance_;
};

// "<place>/capstan-<job id>-<job>-<index>"
std::string cgroup_folder(const std::string& place, const std::string& job_id,
                          const std::string& task);
// Removes the groups of a job of which nothing lives any more.
void remove_cgroups(const std::string& place, const std::string& job_id);

}  // namespace capstan::jobs
