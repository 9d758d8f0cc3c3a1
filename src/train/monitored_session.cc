#include "train/monitored_session.h"

#include <algorithm>
#include <utility>

#include "base/settings.h"
#include "build/basics.h"
#include "io/checkpoint_folder.h"

namespace capstan {
namespace {

using std::chrono::milliseconds;

bool worth_a_new_session(const Error& e) {
  return e.code() == Code::kAborted || e.code() == Code::kUnavailable;
}

std::string join(const Tensor& names) {
  std::string out;
  for (int64_t i = 0; i < names.size(); ++i) out += (i ? ", " : "") + names.data<std::string>()[i];
  return out;
}

}  // namespace

void use_sync_replicas(MonitoredSessionOptions& options, const SyncReplicas& sync, Node& tokens) {
  options.local_init = options.is_chief ? sync.chief_init : sync.local_step_init;
  if (!options.is_chief) return;
  options.queue_ops.push_back(sync.sync_op);
  options.first_op = &tokens;
}

MonitoredSession::MonitoredSession(Graph& graph, MonitoredSessionOptions options)
    : graph_(graph), options_(std::move(options)) {
  std::vector<Output> references;
  for (const VariableRef& v : options_.variables) references.push_back(v.ref);
  if (!options_.init) options_.init = &initialize(graph, options_.variables);
  uninitialized_ = report_uninitialized(graph, references);
  if (!options_.checkpoint_dir.empty() && options_.is_chief) {
    saver_ = std::make_shared<Saver>(graph, options_.variables);
    options_.hooks.push_back(
        checkpoint_every(saver_, options_.checkpoint_dir, options_.save_every));
  }
  if (options_.max_steps > 0) options_.hooks.push_back(stop_at_step(options_.max_steps));
  follow_launcher();
  for (const auto& hook : options_.hooks) hook->begin(graph);
  told([&] { create_session(); });
}

void MonitoredSession::follow_launcher() {
  const Settings settings = settings_from_environment();
  channel_ = std::make_shared<TaskChannel>(settings.task_fd);
  if (!channel_->connected() && settings.max_steps <= 0) return;
  auto reporter = std::make_shared<StepReporter>(channel_, settings.max_steps);
  reporter->ends_at(options_.max_steps);
  // The value is fetched only for somebody who listens.
  Output loss = channel_->connected() ? options_.loss : Output{};
  options_.hooks.push_back(tell_launcher(channel_, reporter, loss));
}

void MonitoredSession::told(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    channel_->error(e);
    throw;
  }
}

MonitoredSession::~MonitoredSession() {
  stop_queue_runners();
  if (session_) session_->close();
}

void MonitoredSession::create_session() {
  for (;;) {
    try {
      session_ = std::make_unique<Session>(graph_, options_.session);
      options_.is_chief ? prepare_as_chief() : wait_for_chief();
      if (options_.local_init) session_->run({}, {}, {options_.local_init});
      step_ = read_step();
      if (options_.is_chief) {
        start_queue_runners();
        if (options_.first_op) session_->run({}, {}, {options_.first_op});
      }
      for (const auto& hook : options_.hooks) hook->after_create_session(*session_, step_);
      return;
    } catch (const Error& e) {
      stop_queue_runners();
      if (!worth_a_new_session(e)) throw;
    }
  }
}

void MonitoredSession::prepare_as_chief() {
  CheckpointFolder folder;
  if (saver_) folder = look_into_checkpoint_folder(posix_files(), options_.checkpoint_dir);
  if (!folder.warning.empty()) session_->options().on_notice(folder.warning);
  if (folder.state) {
    saver_->restore(*session_, folder.state->model_checkpoint_path);
  } else {
    session_->run({}, {}, {options_.init});
  }
}

// Looks often at first: a second worker should join within a second of the chief.
void MonitoredSession::wait_for_chief() {
  auto deadline = std::chrono::steady_clock::now() + options_.wait_at_most;
  auto next_notice = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  milliseconds pause{20};
  for (;;) {
    Tensor missing = session_->run({}, {uninitialized_})[0];
    if (missing.size() == 0) return;
    auto now = std::chrono::steady_clock::now();
    std::string text = fmt::format("waiting for the chief to initialise {}", join(missing));
    if (now > deadline)
      throw deadline_exceeded("{}; gave up after {} s", text, options_.wait_at_most.count());
    if (now > next_notice && options_.session.on_notice) {
      options_.session.on_notice(text);
      next_notice = now + std::chrono::seconds(5);
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds(500));
  }
}

void MonitoredSession::start_queue_runners() {
  for (Node* op : options_.queue_ops) {
    runners_.emplace_back([this, session = session_.get(), op] {
      try {
        for (;;) session->run({}, {}, {op});
      } catch (const Error& e) {
        // Closed, or a task was lost: the next step of the main thread meets the same.
        if (e.code() == Code::kCancelled || worth_a_new_session(e)) return;
        {
          std::lock_guard lock(runner_mutex_);
          runner_error_ = e;
        }
        session->close();  // the main thread may wait for what this one was to bring
      }
    });
  }
}

void MonitoredSession::stop_queue_runners() {
  if (runners_.empty()) return;
  if (session_) session_->close();
  for (std::thread& t : runners_) t.join();
  runners_.clear();
}

std::optional<Error> MonitoredSession::runner_error() {
  std::lock_guard lock(runner_mutex_);
  return std::exchange(runner_error_, std::nullopt);
}

int64_t MonitoredSession::read_step() {
  if (!options_.global_step.ref) return 0;
  Tensor t = session_->run({}, {options_.global_step.ref})[0];
  return t.dtype() == DType::kInt64 ? *t.data<int64_t>() : int64_t(*t.data<int32_t>());
}

std::vector<Tensor> MonitoredSession::run(std::span<const std::pair<Output, Tensor>> feeds,
                                          std::span<const Output> fetches,
                                          std::span<Node* const> targets) {
  std::vector<Tensor> values;
  told([&] { values = run_again(feeds, fetches, targets); });
  return values;
}

std::vector<Tensor> MonitoredSession::run_again(std::span<const std::pair<Output, Tensor>> feeds,
                                                std::span<const Output> fetches,
                                                std::span<Node* const> targets) {
  for (;;) {
    try {
      return run_once(feeds, fetches, targets);
    } catch (const Error& e) {
      if (std::optional<Error> cause = runner_error()) throw *cause;
      if (!worth_a_new_session(e)) throw;
      stop_queue_runners();
      create_session();
    }
  }
}

std::vector<Tensor> MonitoredSession::run_once(std::span<const std::pair<Output, Tensor>> feeds,
                                               std::span<const Output> fetches,
                                               std::span<Node* const> targets) {
  std::vector<Output> all(fetches.begin(), fetches.end());
  std::vector<size_t> counts;
  for (const auto& hook : options_.hooks) {
    std::vector<Output> more = hook->before_run();
    counts.push_back(more.size());
    all.insert(all.end(), more.begin(), more.end());
  }
  if (options_.global_step.ref) all.push_back(options_.global_step.ref);
  std::vector<Tensor> values = session_->run(feeds, all, targets);
  if (options_.global_step.ref) {
    const Tensor& t = values.back();
    step_ = t.dtype() == DType::kInt64 ? *t.data<int64_t>() : int64_t(*t.data<int32_t>());
  }
  size_t at = fetches.size();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (options_.hooks[i]->after_run(*session_, std::span(values).subspan(at, counts[i]), step_))
      stop_ = true;
    at += counts[i];
  }
  values.resize(fetches.size());
  return values;
}

void MonitoredSession::close() {
  if (closed_) return;
  closed_ = true;
  for (const auto& hook : options_.hooks) hook->end(*session_, step_);
  stop_queue_runners();
  session_->close();
}

}  // namespace capstan
