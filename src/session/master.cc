#include "session/master.h"

#include <atomic>
#include <map>
#include <mutex>

#include "cluster/protocol.h"
#include "cluster/service.h"
#include "graph/graph_def.h"
#include "kernel/cancellation.h"
#include "session/session.h"
#include "session/step_threads.h"

namespace capstan {
namespace {

// The server owns its master, and the master its clients: they must not own the server.
std::shared_ptr<Server> borrowed(Server& server) { return {std::shared_ptr<void>(), &server}; }

// One session of a client. Its parts run on the master's threads.
class Client {
 public:
  Client(Server& server, std::vector<std::string> device_filters, uint64_t opener,
         uint64_t incarnation)
      : opener_(opener),
        incarnation_(incarnation),
        graph_(server.catalog()),
        session_(graph_, options(server, std::move(device_filters))) {}

  uint64_t opener() const { return opener_; }
  uint64_t incarnation() const { return incarnation_; }

  void extend(const Message& message) {
    Extension extension = decode_extension(message.meta);
    std::lock_guard lock(mutex_);
    if (extension.from < uint64_t(graph_.size())) return;  // said before
    if (extension.from > uint64_t(graph_.size()))
      throw data_loss("a client left out {} nodes of its graph",
                      extension.from - uint64_t(graph_.size()));
    ImportOptions import;
    import.extends = true;
    from_graph_def(graph_, extension.graph_def, import);
  }

  RunResult run(const Message& message, Cancellation& cancellation) {
    std::shared_ptr<Executable> executable = prepare(decode_run_request(message.meta));
    RunOptions run;
    run.cancellation = &cancellation;
    return session_.run(*executable, message.tensors, run);
  }

  void reset(const Message& message) {
    Session::reset(session_.options(), decode_names(message.meta));
  }

  // What waits for other tasks ends by this, at its next look.
  void condemn() { closed_ = true; }
  void close() { session_.close(); }

 private:
  SessionOptions options(Server& server, std::vector<std::string> device_filters) {
    SessionOptions options;
    options.server = borrowed(server);
    options.target = server.target();
    options.device_filters = std::move(device_filters);
    options.on_wait = [this] {
      if (closed_) throw cancelled("the client has left");
    };
    return options;
  }

  std::shared_ptr<Executable> prepare(const RunRequest& request) {
    std::lock_guard lock(mutex_);
    std::vector<Output> feeds, fetches;
    std::vector<Node*> targets;
    for (const std::string& name : request.feeds) feeds.push_back(graph_.output(name));
    for (const std::string& name : request.fetches) fetches.push_back(graph_.output(name));
    for (const std::string& name : request.targets) {
      targets.push_back(graph_.find(name));
      if (!targets.back()) throw not_found("the graph has no node '{}'", name);
    }
    return session_.prepare(feeds, fetches, targets);
  }

  const uint64_t opener_;  // the connection whose end is the client's
  const uint64_t incarnation_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;  // guards the graph
  Graph graph_;
  Session session_;
};

Message answer_to(const Message& request) {
  Message answer;
  answer.type = uint8_t(MessageType::kReply);
  answer.call = request.call;
  answer.session = request.session;
  return answer;
}

// The values go with what they lie in, until they are sent.
Message answer_to(const Message& request, RunResult result) {
  Message answer = answer_to(request);
  auto kept = std::make_shared<RunResult>(std::move(result));
  for (Tensor& t : kept->values)
    answer.tensors.emplace_back(t.dtype(), t.shape(), t.raw(),
                                std::shared_ptr<void>(kept, t.raw()));
  return answer;
}

class ClientMaster : public Master {
 public:
  explicit ClientMaster(Server& server) : server_(server) {}
  ~ClientMaster() override { stop(); }

  bool on_message(const std::shared_ptr<Peer>& peer, Message& message) override {
    if (MessageType(message.type) == MessageType::kOpenMaster) {
      open(*peer, message);
      peer->send(answer_to(message));
      return true;
    }
    std::shared_ptr<Client> client = find(message);
    if (!client) return false;
    auto request = std::make_shared<Message>(std::move(message));
    switch (MessageType(request->type)) {
      case MessageType::kRun: run(client, peer, request); break;
      case MessageType::kExtend:
        start(peer, request, [client, request] { client->extend(*request); });
        break;
      case MessageType::kReset:
        start(peer, request, [client, request] { client->reset(*request); });
        break;
      default: close(client, peer, request);
    }
    return true;
  }

  void cancel(const Peer& peer, uint64_t call) override {
    std::shared_ptr<Cancellation> end;
    {
      std::lock_guard lock(mutex_);
      auto it = steps_.find({peer.id(), call});
      if (it != steps_.end()) end = it->second;
    }
    if (end) end->cancel();
  }

  void on_close(const Peer& peer) override {
    std::vector<std::shared_ptr<Cancellation>> ends;
    {
      std::lock_guard lock(mutex_);
      for (auto& [step, end] : steps_) {
        if (step.first == peer.id()) ends.push_back(end);
      }
      std::erase_if(clients_, [&](auto& item) {
        if (item.second->opener() != peer.id()) return false;
        end_soon(item.second);
        return true;
      });
    }
    for (auto& end : ends) end->cancel();
  }

  void stop() override {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
      for (auto& [session, client] : clients_) end_soon(client);
      clients_.clear();
    }
    threads_.finish();
  }

 private:
  using Step = std::pair<uint64_t, uint64_t>;  // peer, call

  void check_not_stopped() const {
    if (stopped_) throw unavailable("{} is ending", server_.task_name());
  }

  // The client did not cancel what ends because the server does: it may try again elsewhere.
  Error ended(const Error& why) {
    std::lock_guard lock(mutex_);
    bool by_stop = stopped_ && why.code() == Code::kCancelled;
    return (by_stop ? unavailable("{} is ending", server_.task_name()) : why)
        .at_task(server_.task_name());
  }

  void open(const Peer& peer, const Message& message) {
    auto client = std::make_shared<Client>(server_, decode_names(message.meta), peer.id(),
                                           message.incarnation);
    std::lock_guard lock(mutex_);
    check_not_stopped();
    if (!clients_.try_emplace(message.session, std::move(client)).second)
      throw already_exists("the session is open already");
  }

  // Nothing for a session that is no client's; a task may have the others.
  std::shared_ptr<Client> find(const Message& message) {
    std::lock_guard lock(mutex_);
    auto it = clients_.find(message.session);
    if (it != clients_.end() && it->second->incarnation() == message.incarnation) return it->second;
    MessageType type = MessageType(message.type);
    if (type == MessageType::kCloseSession || type == MessageType::kReset) return nullptr;
    throw aborted(
        "{} does not know this session: it was closed, or the task was restarted; make a new "
        "session",
        server_.task_name());
  }

  // Its steps end at once; the goodbyes to other tasks take their time.
  void end_soon(const std::shared_ptr<Client>& client) {
    client->condemn();
    threads_.post([client] { client->close(); });
  }

  void close(const std::shared_ptr<Client>& client, const std::shared_ptr<Peer>& peer,
             const std::shared_ptr<Message>& request) {
    {
      std::lock_guard lock(mutex_);
      clients_.erase(request->session);
    }
    client->condemn();
    start(peer, request, [client] { client->close(); });
  }

  void run(const std::shared_ptr<Client>& client, const std::shared_ptr<Peer>& peer,
           const std::shared_ptr<Message>& request) {
    auto end = std::make_shared<Cancellation>();
    Step step{peer->id(), request->call};
    std::lock_guard lock(mutex_);
    check_not_stopped();
    steps_[step] = end;
    threads_.post([this, client, peer, request, end, step] {
      Message answer;
      try {
        answer = answer_to(*request, client->run(*request, *end));
      } catch (...) {
        answer = error_reply(*request, ended(current_error()));
      }
      {
        std::lock_guard lock(mutex_);
        steps_.erase(step);
      }
      peer->send(std::move(answer));
    });
  }

  void start(const std::shared_ptr<Peer>& peer, const std::shared_ptr<Message>& request,
             std::function<void()> what) {
    std::lock_guard lock(mutex_);
    check_not_stopped();
    threads_.post([this, peer, request, what = std::move(what)] {
      try {
        what();
        peer->send(answer_to(*request));
      } catch (...) {
        peer->send(error_reply(*request, ended(current_error())));
      }
    });
  }

  Server& server_;
  std::mutex mutex_;  // guards the next three
  bool stopped_ = false;
  std::map<uint64_t, std::shared_ptr<Client>> clients_;  // by session
  std::map<Step, std::shared_ptr<Cancellation>> steps_;
  StepThreads threads_;
};

}  // namespace

void conduct_for_clients(Server& server) {
  server.set_master(std::make_shared<ClientMaster>(server));
}

}  // namespace capstan
