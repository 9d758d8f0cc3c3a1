// Over a folder that stands for the file system of control groups.

#include "jobs/local/memory_cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "jobs/local/local_platform.h"
#include "jobs/random_hex.h"

namespace capstan::jobs {
namespace {

using testing::HasSubstr;

constexpr const char* kMount = "31 23 0:28 {} {} rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

// What the system tells of a process in the group /user/shell.
class System {
 public:
  System() {
    own("12:memory:/elsewhere\n0::/user/shell\n");
    mounts("30 23 0:27 / /proc rw - proc proc rw\n" + fmt::format(kMount, "/", root()));
    folder_.put("fs/user/cgroup.subtree_control", "cpu memory pids\n");
    folder_.put("fs/user/cgroup.procs", "");
  }
  void own(std::string_view text) { files_.own = folder_.put("own", text); }
  void mounts(std::string_view text) { files_.mounts = folder_.put("mounts", text); }
  std::string root() const { return folder_.file("fs"); }
  CgroupPlace place() const { return find_cgroup_place(files_); }
  // As the kernel makes it with the group.
  std::string group(const std::string& name, const std::string& events = "oom_kill 0\n") const {
    for (const char* file : {"memory.max", "memory.swap.max", "memory.oom.group", "cgroup.procs"}) {
      put("fs/user/" + name + "/" + file, "");
    }
    put("fs/user/" + name + "/memory.events", events);
    return root() + "/user/" + name;
  }
  void put(const std::string& file, std::string_view text) const { folder_.put(file, text); }

 private:
  TemporaryFolder folder_;
  CgroupFiles files_;
};

TEST(CgroupPlace, IsTheFolderAboveOurOwnGroup) {
  System system;
  EXPECT_EQ(system.place().folder, system.root() + "/user");
}

TEST(CgroupPlace, IsFoundBelowAPartOfTheTree) {
  System system;
  system.own("0::/outer/user/shell\n");
  system.mounts(fmt::format(kMount, "/outer", system.root()));
  EXPECT_EQ(system.place().folder, system.root() + "/user");
  system.own("0::/other/user/shell\n");
  EXPECT_EQ(system.place().folder, "");
}

TEST(CgroupPlace, IsNoneWithoutVersionTwo) {
  System system;
  system.own("4:memory:/a\n");
  EXPECT_THAT(system.place().why_not, HasSubstr("no control groups of version 2"));
  system.own("0::/user/shell\n");
  system.mounts("35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  EXPECT_THAT(system.place().why_not, HasSubstr("no control groups of version 2"));
}

TEST(CgroupPlace, IsNoneInTheOutermostGroupNorOutsideOfWhatIsSeen) {
  System system;
  for (const char* own : {"0::/\n", "0::/../user\n"}) {
    system.own(own);
    EXPECT_THAT(system.place().why_not, HasSubstr("outermost"));
  }
}

TEST(CgroupPlace, IsNoneWhereMemoryIsNotHandedDown) {
  System system;
  system.put("fs/user/cgroup.subtree_control", "cpu memory_something\n");
  EXPECT_THAT(system.place().why_not, HasSubstr("does not limit memory"));
}

TEST(CgroupPlace, IsNoneWhereOthersRule) {
  System system;
  posix_files().remove(system.root() + "/user/cgroup.procs");
  EXPECT_THAT(system.place().why_not, HasSubstr("is not ours to write"));
}

TEST(MemoryCgroup, SaysTheLimitAndSeesWhatWasKilledForIt) {
  System system;
  const std::string folder = system.group("capstan-1", "oom 3\noom_kill 2\n");
  MemoryCgroup group(folder, 1000);
  EXPECT_EQ(posix_files().read(folder + "/memory.max"), "1000");
  EXPECT_EQ(posix_files().read(folder + "/memory.swap.max"), "0");
  EXPECT_EQ(posix_files().read(folder + "/memory.oom.group"), "1");
  EXPECT_FALSE(group.ran_out());  // that was an earlier attempt
  system.put("fs/user/capstan-1/memory.events", "oom 4\noom_kill 3\n");
  EXPECT_TRUE(group.ran_out());
}

TEST(MemoryCgroup, ThatHasNoLimitToSetIsRefusedByName) {
  System system;
  try {
    MemoryCgroup group(system.root() + "/user/capstan-2", 1000);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(), HasSubstr("capstan-2/memory.max: No such file"));
  }
}

TEST(MemoryCgroup, OfAJobAreRemovedAndOthersStay) {
  System system;
  const std::string place = system.place().folder;
  EXPECT_EQ(cgroup_folder(place, "aa", "worker/0"), place + "/capstan-aa-worker-0");
  for (const char* id : {"aa", "ab"}) {
    posix_files().make_dirs(cgroup_folder(place, id, "worker/0"));
    posix_files().make_dirs(cgroup_folder(place, id, "ps/1"));
  }
  remove_cgroups(place, "aa");
  remove_cgroups("", "ab");  // there was none
  EXPECT_EQ(posix_files().glob(place + "/capstan-*").size(), 2u);
}

// Runs one task with a limit, and returns how it ended. What carries the job's id is killed in the
// end, so no two tests that may run at once share one.
TaskStatus run(const std::string& id, const CgroupPlace& cgroups, const std::string& script,
               int64_t limit) {
  PollLoop loop;
  JobSpec job{.groups = {{"worker", 1}}, .program = {.path = "/bin/sh", .args = {"-c", script}}};
  job.memory = {{"worker", limit}};
  LocalPlatform platform(
      loop, job, {.job_id = id, .log_file = [](const TaskId&) { return ""; }, .cgroups = cgroups});
  platform.start(task_spec(job, platform.cluster(), {"worker", 0}), 1);
  loop.run_until([&] { return platform.list()[0].ended; });
  return platform.list()[0];
}

TEST(LocalPlatform, PutsATaskIntoItsControlGroupBeforeItBegins) {
  System system;
  const std::string id = random_hex(kJobIdBytes);
  const std::string folder = system.group("capstan-" + id + "-worker-0");
  const TaskStatus status =
      run(id, system.place(), "test \"$(cat " + folder + "/cgroup.procs)\" = 0", int64_t{1} << 30);
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_EQ(posix_files().read(folder + "/memory.max"), "1073741824");
}

TEST(LocalPlatform, SaysOfATaskThatTheKernelKilledItForItsMemory) {
  System system;
  const std::string id = random_hex(kJobIdBytes);
  const std::string folder = system.group("capstan-" + id + "-worker-0");
  const std::string script = "echo oom_kill 1 > " + folder + "/memory.events; kill -9 $$";
  const TaskStatus status = run(id, system.place(), script, 1 << 20);
  ASSERT_TRUE(status.told.error);
  EXPECT_EQ(status.told.error->code, kOverMemory);
  EXPECT_EQ(status.told.error->message,
            "over its memory limit of 1 MiB; raise it with --memory worker=…");
}

TEST(LocalPlatform, LooksAtTheMemoryWhereNoControlGroupLimitsIt) {
  // Twice as much as it may have, half of it in a child.
  const std::string script =
      "eat() { x=$(head -c 20000000 /dev/zero | tr '\\0' x); sleep 60; }; "
      "eat & eat";
  const TaskStatus status = run(random_hex(kJobIdBytes), {}, script, 1 << 24);
  EXPECT_EQ(status.signal, 9);
  ASSERT_TRUE(status.told.error);
  EXPECT_THAT(status.told.error->message, HasSubstr("over its memory limit of 16 MiB (had "));
}

TEST(MemoryNote, SaysWhyNoControlGroupKeepsTheLimit) {
  JobSpec job;
  EXPECT_EQ(memory_note(job, {"", "why"}), "");
  job.memory = {{"", 1}};
  EXPECT_EQ(memory_note(job, {"/place", ""}), "");
  EXPECT_THAT(memory_note(job, {"", "why"}), HasSubstr("why: --memory is kept by looking"));
}

}  // namespace
}  // namespace capstan::jobs
