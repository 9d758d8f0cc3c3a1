#include "cluster/service.h"

#include <algorithm>

#include "cluster/protocol.h"

namespace capstan {
namespace {

// Above this a segment leaves the control thread, so that others' small calls are not kept waiting.
constexpr double kHeavyUs = 5'000;

std::vector<News> known_news(const Membership& members) {
  std::vector<News> news;
  for (const auto& [task, said] : members.all_said())
    news.push_back({task, said.incarnation, said.standing});
  return news;
}

}  // namespace

Service::Service(const Catalog& catalog, Membership& members, std::shared_ptr<TaskState> task)
    : catalog_(catalog), members_(members), task_(std::move(task)) {}

void Service::set_master(std::shared_ptr<Master> master) {
  std::lock_guard lock(mutex_);
  master_ = std::move(master);
}

std::shared_ptr<Master> Service::master() const {
  std::lock_guard lock(mutex_);
  return master_;
}

void Service::on_message(const std::shared_ptr<Peer>& peer, Message&& message) {
  messages_.fetch_add(1, std::memory_order_relaxed);
  if (is_for_master(peer, message)) return;
  switch (MessageType(message.type)) {
    case MessageType::kCall: return call(peer, std::move(message));
    case MessageType::kHello: hello(message); break;
    case MessageType::kShip: ship(message); break;
    case MessageType::kForget: session_of(message).programs.erase(message.call); break;
    case MessageType::kCloseSession: close_session(message); break;
    case MessageType::kReset: reset(message); break;
    case MessageType::kNews: return news(*peer, message);
    case MessageType::kPing: break;
    case MessageType::kCancel: return cancel_call(*peer, message.call);
    case MessageType::kOpenMaster:
    case MessageType::kExtend:
    case MessageType::kRun:
      throw unimplemented("{} does not conduct steps for others", task_->name);
    default:
      throw invalid_argument("a message of type {}, which this version does not know",
                             int(message.type));
  }
  acknowledge(*peer, message);
}

bool Service::is_for_master(const std::shared_ptr<Peer>& peer, Message& message) {
  switch (MessageType(message.type)) {
    case MessageType::kOpenMaster:
    case MessageType::kExtend:
    case MessageType::kRun:
    case MessageType::kCloseSession:
    case MessageType::kReset: {
      std::shared_ptr<Master> master = this->master();
      return master && master->on_message(peer, message);
    }
    default: return false;
  }
}

void Service::acknowledge(Peer& peer, const Message& request, std::string meta) {
  Message answer;
  answer.type = uint8_t(MessageType::kReply);
  answer.call = request.call;
  answer.session = request.session;
  answer.meta = std::move(meta);
  peer.send(std::move(answer));
}

Service::OpenSession& Service::session_of(const Message& message) {
  auto it = sessions_.find(message.session);
  if (it == sessions_.end()) {
    throw aborted(
        "{} does not know this session: it was closed, or the task was restarted; make a new "
        "session",
        task_->name);
  }
  if (it->second.incarnation != message.incarnation) {
    throw aborted("a call of an earlier life of {} is refused",
                  it->second.task.empty() ? "a client" : it->second.task);
  }
  return it->second;
}

void Service::hello(const Message& message) {
  std::string task = decode_hello(message.meta).task;
  // A restarted task comes with another incarnation: what its earlier life had open is of no use.
  if (!task.empty()) {
    std::erase_if(sessions_, [&](const auto& item) {
      return item.second.task == task && item.second.incarnation != message.incarnation;
    });
    members_.note_working(task, message.incarnation);
  }
  OpenSession& session = sessions_[message.session];
  session.task = std::move(task);
  session.incarnation = message.incarnation;
}

void Service::ship(const Message& message) {
  OpenSession& session = session_of(message);
  Piece piece = decode_piece(message.meta, catalog_);
  session.programs[message.call] =
      Program::make(std::move(piece), task_, session.state, {.rest = true});
}

void Service::call(const std::shared_ptr<Peer>& peer, Message&& message) {
  OpenSession& session = session_of(message);
  uint64_t segment = decode_call(message.meta).segment;
  auto it = session.programs.find(segment);
  if (it == session.programs.end())
    throw not_found("piece {} is not known to {}", segment, task_->name);
  std::shared_ptr<Program> program = it->second;
  if (program->blocking()) return call_blocking(peer, std::move(message), std::move(program));
  if (program->cost_us() < kHeavyUs) {
    Cancellation never;
    return reply(*peer, message, program->run(message.tensors, never));
  }
  heavy_->post([peer, program, message = std::move(message), task = task_] {
    try {
      Cancellation never;
      reply(*peer, message, program->run(message.tensors, never));
    } catch (...) {
      peer->send(error_reply(message, current_error().at_task(task->name)));
    }
  });
}

void Service::call_blocking(const std::shared_ptr<Peer>& peer, Message&& message,
                            std::shared_ptr<Program> program) {
  auto& waiting = waiting_[peer->id()];
  if (!waiting) waiting = std::make_shared<Waiting>();
  auto cancellation = std::make_shared<Cancellation>();
  {
    std::lock_guard lock(waiting->mutex);
    waiting->calls[message.call] = {message.session, cancellation};
  }
  std::vector<Tensor> inputs = std::move(message.tensors);
  auto request = std::make_shared<Message>(std::move(message));
  auto done = [peer, request, waiting = waiting, cancellation, task = task_](const Error* error,
                                                                             ProgramResult result) {
    {
      std::lock_guard lock(waiting->mutex);
      waiting->calls.erase(request->call);
    }
    if (error) {
      peer->send(error_reply(*request, error->at_task(task->name)));
    } else {
      reply(*peer, *request, std::move(result));
    }
  };
  program->start(std::move(inputs), *cancellation, std::move(done));
}

void Service::reply(Peer& peer, const Message& request, ProgramResult result) {
  Message answer;
  answer.type = uint8_t(MessageType::kReply);
  answer.call = request.call;
  answer.session = request.session;
  answer.share_live = true;
  answer.tensors.reserve(result.outputs.size());
  for (Tensor& t : result.outputs) {
    // The bytes stay as they are until they are sent: the frame goes with them.
    answer.tensors.emplace_back(t.dtype(), t.shape(), t.raw(),
                                std::shared_ptr<void>(result.frame, t.raw()));
  }
  peer.send(std::move(answer));
}

// A call that has ended meanwhile has been answered; there is nothing to do.
void Service::cancel_call(const Peer& peer, uint64_t call) {
  if (auto master = this->master()) master->cancel(peer, call);
  auto it = waiting_.find(peer.id());
  if (it == waiting_.end()) return;
  std::shared_ptr<Cancellation> end;
  {
    std::lock_guard lock(it->second->mutex);
    auto found = it->second->calls.find(call);
    if (found != it->second->calls.end()) end = found->second.second;
  }
  if (end) end->cancel();
}

void Service::close_session(const Message& message) {
  std::vector<std::shared_ptr<Cancellation>> ends;
  for (auto& [peer, waiting] : waiting_) {
    std::lock_guard lock(waiting->mutex);
    for (auto& [call, item] : waiting->calls) {
      if (item.first == message.session) ends.push_back(item.second);
    }
  }
  for (auto& end : ends) end->cancel();
  sessions_.erase(message.session);
}

void Service::reset(const Message& message) {
  std::vector<std::string> containers = decode_names(message.meta);
  task_->variables.reset(containers);
  task_->resources.reset(containers);
}

void Service::on_close(const std::shared_ptr<Peer>& peer, const Error&) {
  if (auto master = this->master()) master->on_close(*peer);
  auto it = waiting_.find(peer->id());
  if (it == waiting_.end()) return;
  std::vector<std::shared_ptr<Cancellation>> ends;
  {
    std::lock_guard lock(it->second->mutex);
    for (auto& [call, item] : it->second->calls) ends.push_back(item.second);
  }
  waiting_.erase(it);
  for (auto& end : ends) end->cancel();
}

void Service::news(Peer& peer, const Message& message) {
  const std::vector<News> news = decode_news(message.meta);
  // Answered first: this may be what the process waits for to end.
  acknowledge(peer, message, encode(known_news(members_)));
  for (const News& one : news) members_.note(one.task, message.incarnation, one.standing);
}

void Service::finish() { heavy_.reset(); }

void Service::stop() {
  if (auto master = this->master()) master->stop();
  members_.stop();
}

}  // namespace capstan
