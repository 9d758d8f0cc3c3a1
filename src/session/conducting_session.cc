// A session on a task of this process that conducts the steps of a cluster.

#include <algorithm>

#include "base/random.h"
#include "cluster/server.h"
#include "graph/device.h"
#include "session/task_session.h"

namespace capstan {
namespace {

bool filter_matches(const std::string& filter, const std::string& job, int task) {
  Device d = Device::parse(filter);
  return (!d.job || *d.job == job) && (!d.task || *d.task == task);
}

class ConductingSession : public TaskSession {
 public:
  ConductingSession(Graph& graph, const SessionOptions& options) : TaskSession(graph, options) {
    Server& server = *options_.server;
    task_ = server.state();
    RemoteOptions remote;
    remote.greeting_meta = encode(Hello{server.task_name()});
    placement_.tasks = {server.task_name()};
    remote.names = {server.task_name()};
    remote.addresses = {""};
    for (const auto& [job, tasks] : server.options().cluster.jobs()) {
      for (const auto& [index, address] : tasks) add_task(server, job, index, remote);
    }
    remote.session = SystemRandom().u64();
    remote.incarnation = server.incarnation();
    remote.on_wait = options_.on_wait;
    remote.on_notice = options_.on_notice;
    remote_ = std::make_shared<RemoteTasks>(server.transport(), std::move(remote));
  }

  void reset(const std::vector<std::string>& containers) override {
    TaskSession::reset(containers);
    for (size_t t = 1; t < placement_.tasks.size(); ++t) remote_->reset(int(t), containers);
  }

  void close() override {
    TaskSession::close();
    remote_->close();
  }

  uint64_t remote_calls() const override { return remote_->calls(); }

 private:
  RemoteTasks* remote() const override { return remote_.get(); }

  void add_task(Server& server, const std::string& job, int index, RemoteOptions& remote) {
    std::string name = fmt::format("/job:{}/task:{}", job, index);
    if (name == server.task_name()) return;
    bool wanted = options_.device_filters.empty() ||
                  std::ranges::any_of(options_.device_filters, [&](const std::string& f) {
                    return filter_matches(f, job, index);
                  });
    if (!wanted) return;
    placement_.tasks.push_back(name);
    remote.names.push_back(name);
    remote.addresses.push_back(server.address_of(job, index));
  }

  void ship(const Segment& segment, Executable::Part& part) override {
    part.shipped = remote_->ship(segment.task, segment.piece);
    part.lease = {nullptr, [weak = std::weak_ptr(remote_), task = segment.task,
                            shipped = part.shipped](void*) {
                    if (auto remote = weak.lock()) remote->forget(task, shipped);
                  }};
  }

  // What other tasks take is computed where they can see it.
  void adapt(ProgramOptions& options, const Plan& plan, std::set<int> shown) const override {
    options.release_inputs = true;
    options.rest = plan.segments.size() > 1;
    if (shown.empty()) return;
    options.output_memory = [shown = std::move(shown), server = options_.server](
                                int output, DType dtype, const Shape& shape) {
      return shown.contains(output) ? server->allocate_shared(dtype, shape) : Tensor();
    };
  }

  std::shared_ptr<RemoteTasks> remote_;
};

}  // namespace

std::unique_ptr<SessionBackend> make_conducting_session(Graph& graph,
                                                        const SessionOptions& options) {
  return std::make_unique<ConductingSession>(graph, options);
}

}  // namespace capstan
