#include "jobs/local/memory_cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/error.h"

namespace capstan::jobs {
namespace {

std::string beginning(const std::string& job_id) { return fmt::format("capstan-{}-", job_id); }

// Of the line "0::/a/b", which tells our group of version 2.
std::string own_group(const std::string& file) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "";
}

struct Mount {
  std::string root, folder;  // `root` of the file system is seen at `folder`
};

// proc(5): id, parent, device, root, folder, options, optional fields, "-", type
std::optional<Mount> cgroup2_mount(const std::string& file) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" - cgroup2 ") == line.npos) continue;
    std::istringstream words(line);
    std::string id, parent, device;
    Mount mount;
    if (words >> id >> parent >> device >> mount.root >> mount.folder) return mount;
  }
  return std::nullopt;
}

// `group` as a path; empty if it lies outside of what is mounted.
std::string folder_of(const Mount& mount, const std::string& group) {
  const std::string above = mount.root == "/" ? "" : mount.root;
  if (!group.starts_with(above + "/") || group.find("/..") != group.npos) return "";
  return mount.folder + group.substr(above.size());
}

bool has_word(const std::string& file, const std::string& wanted) {
  std::ifstream words(file);
  for (std::string word; words >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

bool is_writable(const std::string& path) { return access(path.c_str(), W_OK) == 0; }

// False with errno if the file is not there, or does not take it.
bool put(const std::string& file, const std::string& text) {
  Fd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), text.data(), text.size()) == ssize_t(text.size());
}

int64_t kills_in(const std::string& folder) {
  std::ifstream words(folder + "/memory.events");
  std::string name;
  for (int64_t count = 0; words >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

[[noreturn]] void refuse(const std::string& what) {
  throw unavailable("{}: {}", what, std::strerror(errno));
}

}  // namespace

CgroupPlace find_cgroup_place(const CgroupFiles& files) {
  const std::optional<Mount> mount = cgroup2_mount(files.mounts);
  const std::string group = own_group(files.own);
  if (!mount || group.empty()) return {"", "this system has no control groups of version 2"};
  const std::string own = folder_of(*mount, group);
  if (own.empty() || own == mount->folder + "/") {
    return {"", "this process is in the outermost control group that it can see"};
  }
  const std::string above = std::filesystem::path(own).parent_path();
  if (!has_word(above + "/cgroup.subtree_control", "memory")) {
    return {"", fmt::format("{} does not limit memory", above)};
  }
  if (!is_writable(above) || !is_writable(above + "/cgroup.procs")) {
    return {"", fmt::format("{} is not ours to write", above)};
  }
  return {above, ""};
}

MemoryCgroup::MemoryCgroup(std::string folder, int64_t limit) : folder_(std::move(folder)) {
  // One that an earlier attempt could not remove will do: it has the same name and limit.
  if (mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) refuse(folder_);
  if (!put(folder_ + "/memory.max", std::to_string(limit))) refuse(folder_ + "/memory.max");
  put(folder_ + "/memory.swap.max", "0");   // not there without swap
  put(folder_ + "/memory.oom.group", "1");  // all or nothing of the task; not in old kernels
  kills_before_ = kills_in(folder_);
  entrance_ = Fd(open((folder_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!entrance_) refuse(folder_ + "/cgroup.procs");
}

// Who was killed just now may still be in it: remove_cgroups() is for what stays then.
MemoryCgroup::~MemoryCgroup() {
  put(folder_ + "/cgroup.kill", "1");
  rmdir(folder_.c_str());
}

bool MemoryCgroup::ran_out() const { return kills_in(folder_) > kills_before_; }

std::string cgroup_folder(const std::string& place, const std::string& job_id,
                          const std::string& task) {
  std::string name = beginning(job_id) + task;
  std::ranges::replace(name, '/', '-');
  return place + "/" + name;
}

void remove_cgroups(const std::string& place, const std::string& job_id) {
  constexpr int kRounds = 100, kPauseMilliseconds = 5;  // the dead leave it within moments
  if (place.empty()) return;
  for (int round = 0; round < kRounds; ++round) {
    bool busy = false;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(place, ignored)) {
      if (!entry.path().filename().string().starts_with(beginning(job_id))) continue;
      busy |= rmdir(entry.path().c_str()) != 0 && errno == EBUSY;
    }
    if (!busy) return;
    poll(nullptr, 0, kPauseMilliseconds);
  }
}

}  // namespace capstan::jobs
