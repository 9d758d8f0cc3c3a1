#include "session/session.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/log.h"
#include "base/poster.h"
#include "base/random.h"
#include "cluster/server.h"
#include "graph/device.h"
#include "kernel/isa.h"
#include "session/client_session.h"
#include "session/conductor.h"
#include "session/executable.h"

namespace capstan {
namespace {

struct PlanKey {
  std::vector<std::pair<const Node*, int>> items;  // feeds, a mark, fetches, a mark, targets
  bool operator==(const PlanKey&) const = default;
};

struct PlanKeyHash {
  size_t operator()(const PlanKey& key) const {
    size_t h = key.items.size();
    for (auto& [node, index] : key.items) {
      h ^= (reinterpret_cast<size_t>(node) + size_t(index) * 0x9e3779b97f4a7c15) + (h << 6) +
           (h >> 2);
    }
    return h;
  }
};

PlanKey key_of(std::span<const Output> feeds, std::span<const Output> fetches,
               std::span<Node* const> targets) {
  PlanKey key;
  key.items.reserve(feeds.size() + fetches.size() + targets.size() + 2);
  for (const Output& o : feeds) key.items.emplace_back(o.node, o.index);
  key.items.emplace_back(nullptr, 0);
  for (const Output& o : fetches) key.items.emplace_back(o.node, o.index);
  key.items.emplace_back(nullptr, 1);
  for (const Node* n : targets) key.items.emplace_back(n, 0);
  return key;
}

bool filter_matches(const std::string& filter, const std::string& job, int task) {
  Device d = Device::parse(filter);
  return (!d.job || *d.job == job) && (!d.task || *d.task == task);
}

}  // namespace

class Session::Impl {
 public:
  Impl(Graph& graph, SessionOptions options)
      : graph_(graph), options_(with_notice(std::move(options))) {
    session_state_ = std::make_shared<SessionState>();
    if (options_.server) {
      join_cluster();
    } else if (!options_.target.empty() && options_.target != "local") {
      client_ = std::make_unique<ClientSession>(graph_, options_);
    } else {
      make_own_task();
    }
  }

  ~Impl() { close(); }

  Graph& graph() const { return graph_; }
  const SessionOptions& options() const { return options_; }
  bool closed() const { return closed_.load(); }
  uint64_t remote_calls() const {
    if (client_) return client_->calls();
    return remote_ ? remote_->calls() : 0;
  }

  std::shared_ptr<Executable> prepare(std::span<const Output> feeds,
                                      std::span<const Output> fetches,
                                      std::span<Node* const> targets) {
    PlanKey key = key_of(feeds, fetches, targets);
    {
      std::lock_guard lock(mutex_);
      if (auto it = plans_.find(key); it != plans_.end()) {
        it->second.used = ++uses_;
        return it->second.executable;
      }
    }
    PlanRequest request{{feeds.begin(), feeds.end()},
                        {fetches.begin(), fetches.end()},
                        {targets.begin(), targets.end()}};
    // Not under the lock: shipping waits for other tasks. Two threads may make the same plan.
    std::shared_ptr<Executable> executable =
        client_ ? client_->prepare(request) : make_executable(request);
    std::lock_guard lock(mutex_);
    if (plans_.size() >= kMaxPlans) {
      plans_.erase(std::ranges::min_element(plans_, {}, [](auto& p) { return p.second.used; }));
    }
    return plans_.emplace(std::move(key), Kept{std::move(executable), ++uses_})
        .first->second.executable;
  }

  RunResult run(Executable& executable, std::span<const Tensor> feeds,
                const RunOptions& run_options) {
    if (closed()) throw cancelled("the session is closed");
    executable.check_feeds(feeds);
    const bool bounded = run_options.timeout_ms || run_options.cancellation;
    if (executable.simple && !bounded) return run_simple(executable, feeds);
    Deadline deadline = run_options.timeout_ms
                            ? deadline_in(std::chrono::milliseconds(run_options.timeout_ms))
                            : kNoDeadline;
    if (client_) return client_->run(executable, feeds, deadline);
    Conductor conductor(executable, feeds, remote_.get(), options_, deadline);
    Guard closing(cancellation_, conductor, "the session is closed");
    std::optional<Guard> given_up;
    if (run_options.cancellation)
      given_up.emplace(*run_options.cancellation, conductor, "the run was given up");
    return conductor.run();
  }

  void close() {
    if (closed_.exchange(true)) return;
    cancellation_.cancel();
    if (remote_) remote_->close();
    if (client_) client_->close();
  }

  void reset_containers(const std::vector<std::string>& containers) {
    if (client_) return client_->reset(containers);
    task_->variables.reset(containers);
    task_->resources.reset(containers);
    for (size_t t = 1; t < placement_.tasks.size(); ++t) remote_->reset(int(t), containers);
  }

 private:
  static constexpr size_t kMaxPlans = 256;

  // While it lives, the cancellation ends the conductor's run.
  class Guard {
   public:
    Guard(Cancellation& cancellation, const Conductor& conductor, std::string_view why)
        : cancellation_(cancellation), id_(cancellation.add(conductor.canceller())) {
      if (id_ == 0) throw cancelled("{}", why);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { cancellation_.remove(id_); }

   private:
    Cancellation& cancellation_;
    const uint64_t id_;
  };

  static SessionOptions with_notice(SessionOptions options) {
    if (!options.on_notice && options.server) {
      options.on_notice = options.server->options().on_notice;
    }
    if (!options.on_notice) options.on_notice = print_notice;
    return options;
  }

  void make_own_task() {
    int threads = options_.threads > 0 ? options_.threads : kernel_threads(1);
    task_ = std::make_shared<TaskState>(placement_.tasks[0], threads, posix_files(),
                                        isa_from(options_.isa));
    poster_ = std::make_shared<Poster>();
    task_->post = [poster = poster_](std::function<void()> f) { poster->post(std::move(f)); };
  }

  void join_cluster() {
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
    SystemRandom random;
    remote.session = random.u64();
    remote.incarnation = server.incarnation();
    remote.on_wait = options_.on_wait;
    remote.on_notice = options_.on_notice;
    remote_ = std::make_shared<RemoteTasks>(server.transport(), std::move(remote));
  }

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

  std::shared_ptr<Executable> make_executable(const PlanRequest& request) {
    Plan plan = make_plan(graph_, request, placement_);
    auto executable = std::make_shared<Executable>();
    executable->feeds = request.feeds;
    executable->fetches = plan.fetches;
    for (size_t i = 0; i < plan.segments.size(); ++i) add_part(*executable, plan, i);
    count_takers(*executable);
    executable->simple = executable->parts.size() == 1 && executable->parts[0].task == 0 &&
                         !executable->parts[0].blocking;
    return executable;
  }

  void add_part(Executable& executable, Plan& plan, size_t number) {
    Segment& segment = plan.segments[number];
    Executable::Part part;
    part.task = segment.task;
    part.inputs = segment.inputs;
    part.blocking = segment.blocking;
    part.label = label_of(segment);
    part.waits_for = int(segment.after.size());
    part.outputs = int(segment.piece.outputs.size());
    for (int before : segment.after) executable.parts[size_t(before)].next.push_back(int(number));
    if (segment.task == 0) {
      part.program = Program::make(std::move(segment.piece), task_, session_state_,
                                   options_of(plan, int(number)));
    } else {
      part.shipped = remote_->ship(segment.task, segment.piece);
      part.lease = lease_of(segment.task, part.shipped);
    }
    executable.parts.push_back(std::move(part));
  }

  // The ops that may wait for others, else the task.
  std::string label_of(const Segment& segment) const {
    const std::string& task = placement_.tasks[size_t(segment.task)];
    std::string ops;
    for (int id = 0; id < segment.piece.graph->size(); ++id) {
      const Node& node = segment.piece.graph->node(id);
      if (node.def().blocking)
        ops += fmt::format("{}{} '{}'", ops.empty() ? "" : ", ", node.op(), node.name());
    }
    return ops.empty() ? task : fmt::format("{} on {}", ops, task);
  }

  std::shared_ptr<void> lease_of(int task, uint64_t shipped) const {
    return {nullptr, [weak = std::weak_ptr(remote_), task, shipped](void*) {
              if (auto remote = weak.lock()) remote->forget(task, shipped);
            }};
  }

  // What other tasks take is computed where they can see it.
  ProgramOptions options_of(const Plan& plan, int number) const {
    ProgramOptions options;
    options.on_tick = options_.on_wait;
    std::set<int> shown;
    for (const Segment& taker : plan.segments) {
      for (const Source& source : taker.inputs) {
        if (source.segment == number)
          (taker.task == 0 ? options.taken_later : shown).insert(source.index);
      }
    }
    if (!remote_) return options;
    options.release_inputs = true;
    options.rest = plan.segments.size() > 1;
    if (shown.empty()) return options;
    options.output_memory = [shown = std::move(shown), server = options_.server](
                                int output, DType dtype, const Shape& shape) {
      return shown.contains(output) ? server->allocate_shared(dtype, shape) : Tensor();
    };
    return options;
  }

  static void count_takers(Executable& executable) {
    for (Executable::Part& part : executable.parts) {
      std::set<int> givers;
      for (const Source& source : part.inputs) {
        if (source.segment >= 0) givers.insert(source.segment);
      }
      for (int giver : givers) ++executable.parts[size_t(giver)].takers;
      part.givers.assign(givers.begin(), givers.end());
    }
    for (const Source& source : executable.fetches) {
      if (source.segment >= 0) ++executable.parts[size_t(source.segment)].takers;
    }
  }

  RunResult run_simple(Executable& executable, std::span<const Tensor> feeds) {
    Executable::Part& part = executable.parts[0];
    std::vector<Tensor> inputs;
    inputs.reserve(part.inputs.size());
    for (const Source& s : part.inputs) inputs.push_back(feeds[size_t(s.index)]);
    ProgramResult result = part.program->run(inputs, cancellation_);
    RunResult out;
    out.values.reserve(executable.fetches.size());
    for (const Source& s : executable.fetches) {
      out.values.push_back(s.segment < 0 ? feeds[size_t(s.index)]
                                         : result.outputs[size_t(s.index)]);
    }
    out.lease = std::move(result.frame);
    return out;
  }

  Graph& graph_;
  const SessionOptions options_;
  Placement placement_;
  std::shared_ptr<Poster> poster_;
  std::shared_ptr<TaskState> task_;
  std::shared_ptr<SessionState> session_state_;
  std::shared_ptr<RemoteTasks> remote_;
  std::unique_ptr<ClientSession> client_;
  Cancellation cancellation_;
  std::atomic<bool> closed_{false};
  struct Kept {
    std::shared_ptr<Executable> executable;
    uint64_t used;  // when it was last asked for, in uses_
  };
  std::mutex mutex_;  // guards plans_ and uses_
  std::unordered_map<PlanKey, Kept, PlanKeyHash> plans_;
  uint64_t uses_ = 0;
};

Session::Session(Graph& graph, SessionOptions options)
    : impl_(std::make_unique<Impl>(graph, std::move(options))) {}
Session::~Session() = default;
Graph& Session::graph() const { return impl_->graph(); }
const SessionOptions& Session::options() const { return impl_->options(); }
bool Session::closed() const { return impl_->closed(); }
void Session::close() { impl_->close(); }
uint64_t Session::remote_calls() const { return impl_->remote_calls(); }

std::shared_ptr<Executable> Session::prepare(std::span<const Output> feeds,
                                             std::span<const Output> fetches,
                                             std::span<Node* const> targets) {
  return impl_->prepare(feeds, fetches, targets);
}

RunResult Session::run(Executable& executable, std::span<const Tensor> feeds,
                       const RunOptions& options) {
  return impl_->run(executable, feeds, options);
}

std::vector<Tensor> Session::run(std::span<const std::pair<Output, Tensor>> feeds,
                                 std::span<const Output> fetches, std::span<Node* const> targets) {
  std::vector<Output> fed;
  std::vector<Tensor> values;
  for (const auto& [output, value] : feeds) {
    fed.push_back(output);
    values.push_back(value);
  }
  RunResult result = run(*prepare(fed, fetches, targets), values);
  for (Tensor& t : result.values) t = t.clone();
  return std::move(result.values);
}

std::vector<Tensor> Session::run(std::initializer_list<std::pair<Output, Tensor>> feeds,
                                 std::initializer_list<Output> fetches,
                                 std::initializer_list<Node*> targets) {
  return run(std::span(feeds.begin(), feeds.size()), std::span(fetches.begin(), fetches.size()),
             std::span<Node* const>(targets.begin(), targets.size()));
}

void Session::reset(const SessionOptions& options, const std::vector<std::string>& containers) {
  Catalog no_ops(std::span<const OpDef* const>{});
  Graph empty(options.server ? options.server->catalog() : no_ops);
  Impl(empty, options).reset_containers(containers);
}

}  // namespace capstan
