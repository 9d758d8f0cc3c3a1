#include "session/session.h"

#include <atomic>

#include "base/log.h"
#include "cluster/server.h"
#include "session/plan_cache.h"
#include "session/session_backend.h"

namespace capstan {
namespace {

SessionOptions with_notice(SessionOptions options) {
  if (!options.on_notice && options.server) options.on_notice = options.server->options().on_notice;
  if (!options.on_notice) options.on_notice = print_notice;
  return options;
}

std::unique_ptr<SessionBackend> make_backend(Graph& graph, const SessionOptions& options) {
  if (options.server) return make_conducting_session(graph, options);
  const bool here = options.target.empty() || options.target == "local";
  return here ? make_local_session(graph, options) : make_client_session(graph, options);
}

}  // namespace

class Session::Impl {
 public:
  Impl(Graph& graph, SessionOptions options)
      : graph_(graph),
        options_(with_notice(std::move(options))),
        backend_(make_backend(graph_, options_)) {}
  ~Impl() { close(); }

  Graph& graph() const { return graph_; }
  const SessionOptions& options() const { return options_; }
  SessionBackend& backend() const { return *backend_; }
  bool closed() const { return closed_.load(); }

  std::shared_ptr<Executable> prepare(std::span<const Output> feeds,
                                      std::span<const Output> fetches,
                                      std::span<Node* const> targets) {
    PlanKey key = plan_key(feeds, fetches, targets);
    if (auto known = plans_.find(key)) return known;
    // Nothing is locked here: shipping waits for other tasks. Two threads may make the same plan.
    auto made = backend_->prepare({{feeds.begin(), feeds.end()},
                                   {fetches.begin(), fetches.end()},
                                   {targets.begin(), targets.end()}});
    return plans_.keep(std::move(key), std::move(made));
  }

  RunResult run(Executable& executable, std::span<const Tensor> feeds, const RunOptions& options) {
    if (closed()) throw cancelled("the session is closed");
    executable.check_feeds(feeds);
    return backend_->run(executable, feeds, options);
  }

  void close() {
    if (!closed_.exchange(true)) backend_->close();
  }

 private:
  Graph& graph_;
  const SessionOptions options_;
  const std::unique_ptr<SessionBackend> backend_;
  std::atomic<bool> closed_{false};
  PlanCache plans_;
};

Session::Session(Graph& graph, SessionOptions options)
    : impl_(std::make_unique<Impl>(graph, std::move(options))) {}
Session::~Session() = default;
Graph& Session::graph() const { return impl_->graph(); }
const SessionOptions& Session::options() const { return impl_->options(); }
bool Session::closed() const { return impl_->closed(); }
void Session::close() { impl_->close(); }
uint64_t Session::remote_calls() const { return impl_->backend().remote_calls(); }

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
  Impl(empty, options).backend().reset(containers);
}

}  // namespace capstan
