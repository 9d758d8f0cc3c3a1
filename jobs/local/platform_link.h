#pragma once

// A platform in another process: the one that holds the tasks of a detached job serves it over a
// socket pair to the one that decides, which may die and be replaced. Both come from one fork and
// know the same specs, so that only names and what is seen cross over, as JSON in packets.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "jobs/platform.h"
#include "jobs/poll_loop.h"

namespace capstan::jobs {

// At the side of the tasks. Serves one controller at a time.
class PlatformServer : private PlatformWatcher {
 public:
  // `spec_of` gives the spec of a task that is to be started.
  PlatformServer(PollLoop& loop, Platform& platform,
                 std::function<TaskSpec(const TaskId&)> spec_of);
  ~PlatformServer() override;

  // A new controller at the other end of `socket`; it is told first what there is.
  void serve(Fd socket);
  // Reads what a controller that has died still asked for.
  void hang_up();

 private:
  void changed() override;
  void log(const TaskId&, std::string_view) override {}
  void progress(const TaskId& task, const Progress&) override;
  void read();
  void obey(std::string_view request);
  void flush();

  PollLoop& loop_;
  Platform& platform_;
  const std::function<TaskSpec(const TaskId&)> spec_of_;
  Fd socket_;
  // What the controller has not been told yet: bounded, since a task is in it once.
  std::set<TaskId> untold_;
  bool synced_ = false;
};

// At the side of the controller.
class RemotePlatform : public Platform {
 public:
  // Waits until it knows what there is. Throws Unavailable if nobody is at the other end.
  RemotePlatform(PollLoop& loop, Fd socket, std::function<void()> gone);
  ~RemotePlatform() override;

  void watch(PlatformWatcher* watcher) override { watcher_ = watcher; }
  void start(const TaskSpec& spec, int attempt) override;
  void stop(const TaskId& task, StopHow how) override;
  std::vector<TaskStatus> list() const override;
  std::vector<std::string> last_lines(const TaskId& task) const override;
  void clean_up() override;

 private:
  void send(const std::string& request);
  void read();
  bool take(std::string_view packet);

  PollLoop& loop_;
  Fd socket_;
  std::function<void()> gone_;
  PlatformWatcher* watcher_ = nullptr;
  std::map<TaskId, TaskStatus> tasks_;
  std::map<TaskId, std::vector<std::string>> last_lines_;
};

}  // namespace capstan::jobs
