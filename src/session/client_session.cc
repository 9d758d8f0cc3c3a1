#include "session/client_session.h"

#include "base/random.h"
#include "graph/graph_def.h"

namespace capstan {

ClientSession::ClientSession(const Graph& graph, const SessionOptions& options)
    : graph_(graph),
      options_(options),
      incarnation_(SystemRandom().u64()),
      transport_(make_client_transport(options.client, incarnation_)),
      tasks_(*transport_, remote_options()) {}

ClientSession::~ClientSession() { close(); }

RemoteOptions ClientSession::remote_options() {
  RemoteOptions remote;
  remote.greeting = MessageType::kOpenMaster;
  remote.greeting_meta = encode_names(options_.device_filters);
  remote.names = {options_.target};
  remote.addresses = {address_of_target(options_.target, options_.client)};
  remote.session = SystemRandom().u64();
  remote.incarnation = incarnation_;
  remote.on_wait = [this] { on_wait(); };
  remote.on_notice = options_.on_notice;
  return remote;
}

void ClientSession::on_wait() const {
  if (closed_) throw cancelled("the session is closed");
  if (options_.on_wait) options_.on_wait();
}

std::string ClientSession::checked(const Output& output) const {
  if (&output.graph() != &graph_)
    throw invalid_argument("'{}' is not an element of this session's graph", output.name());
  return output.name();
}

std::shared_ptr<Executable> ClientSession::prepare(const PlanRequest& request) {
  auto executable = std::make_shared<Executable>();
  RunRequest& names = executable->by_name.emplace();
  for (const Output& o : request.feeds) names.feeds.push_back(checked(o));
  for (const Output& o : request.fetches) names.fetches.push_back(checked(o));
  for (Node* n : request.targets) {
    checked({n, 0});
    names.targets.push_back(n->name());
  }
  executable->feeds = request.feeds;
  note_new_nodes();
  return executable;
}

// Nodes do not change once they have been run, as in TensorFlow: only new ones are of interest.
void ClientSession::note_new_nodes() {
  std::lock_guard lock(mutex_);
  if (noted_ == graph_.size()) return;
  unsent_.push_back({uint64_t(noted_), to_graph_def(graph_, noted_)});
  noted_ = graph_.size();
}

void ClientSession::wait_for_turn(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kSlice{100};
  while (sending_) {
    turn_over_.wait_for(lock, kSlice);
    lock.unlock();
    on_wait();
    lock.lock();
  }
}

void ClientSession::open() {
  std::unique_lock lock(mutex_);
  wait_for_turn(lock);
  if (home_ && unsent_.empty()) return;
  sending_ = true;
  struct Turn {
    ClientSession& session;
    std::unique_lock<std::mutex>& lock;
    ~Turn() {
      if (!lock.owns_lock()) lock.lock();
      session.sending_ = false;
      session.turn_over_.notify_all();
    }
  } turn{*this, lock};
  if (!home_) {
    lock.unlock();
    std::unique_ptr<Lane> home = tasks_.borrow(0);
    lock.lock();
    home_ = std::move(home);
  }
  while (!unsent_.empty()) {
    Message message;
    message.type = uint8_t(MessageType::kExtend);
    message.meta = encode(unsent_.front());
    lock.unlock();
    tasks_.exchange(0, std::move(message));
    lock.lock();
    unsent_.pop_front();
  }
}

RunResult ClientSession::run(Executable& executable, std::span<const Tensor> feeds,
                             const RunOptions& options) {
  const Deadline deadline = deadline_of(options);
  open();
  RemoteStep step(tasks_, deadline);
  Message message;
  message.type = uint8_t(MessageType::kRun);
  message.call = 1;
  message.meta = encode(*executable.by_name);
  message.tensors.assign(feeds.begin(), feeds.end());
  step.send(0, std::move(message));
  RemoteStep::Reply reply;
  while (!step.wait(reply, {deadline, options_.on_wait})) continue;
  if (reply.outputs.size() != executable.by_name->fetches.size())
    throw data_loss("{} answered with {} values where {} were fetched", options_.target,
                    reply.outputs.size(), executable.by_name->fetches.size());
  return {std::move(reply.outputs), nullptr};
}

void ClientSession::reset(const std::vector<std::string>& containers) {
  open();
  tasks_.reset(0, containers);
}

void ClientSession::close() {
  if (closed_.exchange(true)) return;
  tasks_.close();
  std::lock_guard lock(mutex_);
  home_.reset();
}

std::unique_ptr<SessionBackend> make_client_session(Graph& graph, const SessionOptions& options) {
  return std::make_unique<ClientSession>(graph, options);
}

}  // namespace capstan
