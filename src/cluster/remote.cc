#include "cluster/remote.h"

#include <algorithm>

namespace capstan {
namespace {

constexpr std::chrono::seconds kControlDeadline{60};
// How long a step that ends early waits for a task to let go of its calls.
constexpr std::chrono::milliseconds kGiveUp{500};

}  // namespace

RemoteTasks::RemoteTasks(Transport& transport, RemoteOptions options)
    : transport_(transport), options_(std::move(options)) {
  for (size_t i = 0; i < options_.names.size(); ++i) targets_.push_back(std::make_unique<Target>());
}

RemoteTasks::~RemoteTasks() { close(); }

std::unique_ptr<Lane> RemoteTasks::connect(int task) {
  ConnectRequest request;
  request.address = options_.addresses[size_t(task)];
  request.deadline = deadline_in(std::chrono::milliseconds(options_.connect_timeout_ms));
  request.on_interrupt = options_.on_wait;
  request.on_wait = [&](const std::string& text) {
    if (options_.on_notice) options_.on_notice(fmt::format("waiting for {}: {}", name(task), text));
  };
  try {
    return transport_.connect(request);
  } catch (const Error& e) {
    throw e.at_task(name(task));
  }
}

// Also says hello when nobody did yet; two threads that both do so say the same.
void RemoteTasks::open_on(int task, Lane& lane) {
  Target& target = *targets_[size_t(task)];
  {
    std::lock_guard lock(target.mutex);
    if (target.opened && target.incarnation != lane.peer_incarnation()) {
      throw aborted(
          "task {} at {} was restarted during this session; its variables are gone: make a "
          "new session and restore them",
          name(task), options_.addresses[size_t(task)]);
    }
    if (target.opened) return;
  }
  Message hello;
  hello.type = uint8_t(options_.greeting);
  hello.session = options_.session;
  hello.incarnation = options_.incarnation;
  hello.meta = options_.greeting_meta;
  WaitOptions wait{deadline_in(kControlDeadline), options_.on_wait};
  lane.send(hello, wait);
  throw_if_error(lane.receive(wait));
  std::lock_guard lock(target.mutex);
  target.opened = true;
  target.incarnation = lane.peer_incarnation();
}

// No lock is held while a lane is made: on_wait may need the interpreter, whose holder may need us.
std::unique_ptr<Lane> RemoteTasks::borrow(int task) {
  Target& target = *targets_[size_t(task)];
  {
    std::lock_guard lock(target.mutex);
    if (!target.idle.empty()) {
      std::unique_ptr<Lane> lane = std::move(target.idle.back());
      target.idle.pop_back();
      return lane;
    }
  }
  std::unique_ptr<Lane> lane = connect(task);
  open_on(task, *lane);
  return lane;
}

void RemoteTasks::give_back(int task, std::unique_ptr<Lane> lane) {
  Target& target = *targets_[size_t(task)];
  std::lock_guard lock(target.mutex);
  target.idle.push_back(std::move(lane));
}

Message RemoteTasks::exchange(int task, Message message) {
  std::unique_ptr<Lane> lane = borrow(task);
  message.session = options_.session;
  message.incarnation = options_.incarnation;
  calls_.fetch_add(1, std::memory_order_relaxed);
  WaitOptions wait{deadline_in(kControlDeadline), options_.on_wait};
  try {
    lane->send(message, wait);
    Message reply = lane->receive(wait);
    throw_if_error(reply);
    give_back(task, std::move(lane));
    return reply;
  } catch (const Error& e) {
    throw e.at_task(name(task));
  }
}

void RemoteTasks::forget(int task, uint64_t segment) {
  Target& target = *targets_[size_t(task)];
  std::lock_guard lock(target.mutex);
  target.forgotten.push_back(segment);
}

void RemoteTasks::tell_forgotten(int task) {
  std::vector<uint64_t> segments;
  {
    Target& target = *targets_[size_t(task)];
    std::lock_guard lock(target.mutex);
    segments.swap(target.forgotten);
  }
  for (uint64_t segment : segments) {
    Message message;
    message.type = uint8_t(MessageType::kForget);
    message.call = segment;
    exchange(task, std::move(message));
  }
}

uint64_t RemoteTasks::ship(int task, const Piece& piece) {
  tell_forgotten(task);
  Message message;
  message.type = uint8_t(MessageType::kShip);
  {
    Target& target = *targets_[size_t(task)];
    std::lock_guard lock(target.mutex);
    message.call = target.next_segment++;
  }
  message.meta = encode_piece(piece);
  uint64_t id = message.call;
  exchange(task, std::move(message));
  return id;
}

void RemoteTasks::reset(int task, const std::vector<std::string>& containers) {
  Message message;
  message.type = uint8_t(MessageType::kReset);
  message.meta = encode_names(containers);
  exchange(task, std::move(message));
}

void RemoteTasks::close() {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    for (RemoteStep* step : steps_) step->cancel();
  }
  for (size_t t = 0; t < targets_.size(); ++t) close_on(*targets_[t]);
}

void RemoteTasks::close_on(Target& target) {
  std::vector<std::unique_ptr<Lane>> lanes;
  {
    std::lock_guard lock(target.mutex);
    lanes = std::move(target.idle);
    target.idle.clear();
  }
  if (!lanes.empty()) say_close(*lanes.back());
}

void RemoteTasks::say_close(Lane& lane) {
  Message message;
  message.type = uint8_t(MessageType::kCloseSession);
  message.session = options_.session;
  message.incarnation = options_.incarnation;
  try {
    WaitOptions wait{deadline_in(std::chrono::seconds(2)), {}};
    lane.send(message, wait);
    lane.receive(wait);
  } catch (const Error&) {
    // The task is gone, and with it what the session held there.
  }
}

bool RemoteTasks::closed() {
  std::lock_guard lock(mutex_);
  return closed_;
}

RemoteStep::RemoteStep(RemoteTasks& tasks, Deadline deadline) : tasks_(tasks), deadline_(deadline) {
  std::lock_guard lock(tasks_.mutex_);
  if (tasks_.closed_) throw cancelled("the session is closed");
  tasks_.steps_.push_back(this);
}

RemoteStep::~RemoteStep() {
  {
    std::lock_guard lock(tasks_.mutex_);
    std::erase(tasks_.steps_, this);
  }
  for (Line& l : lines_) {
    if (!l.broken && !l.waiting.empty()) give_up(l);
    if (l.broken) continue;
    l.lane->resume();  // it may have been cancelled when all its replies were here
    // The session was closed while this step had its only lane to the task.
    if (tasks_.closed())
      tasks_.say_close(*l.lane);
    else
      tasks_.give_back(l.task, std::move(l.lane));
  }
}

void RemoteStep::give_up(Line& l) {
  Message message;
  message.type = uint8_t(MessageType::kCancel);
  message.session = tasks_.options_.session;
  message.incarnation = tasks_.options_.incarnation;
  try {
    WaitOptions wait{deadline_in(kGiveUp), {}};
    l.lane->resume();
    for (uint64_t token : l.waiting) {
      message.call = token;
      l.lane->send(message, wait);
    }
    for (; !l.waiting.empty(); l.waiting.pop_back()) l.lane->receive(wait);
  } catch (const Error&) {
    l.broken = true;  // its end tells the task the same
  }
}

RemoteStep::Line& RemoteStep::line(int task) {
  for (Line& l : lines_) {
    if (l.task == task) return l;
  }
  std::unique_ptr<Lane> lane = tasks_.borrow(task);
  std::lock_guard lock(mutex_);
  if (cancelled_) throw cancelled("the session was closed during this step");
  lines_.push_back({task, std::move(lane), {}, false});
  return lines_.back();
}

void RemoteStep::call(int task, uint64_t segment, uint64_t token, std::vector<Tensor> inputs) {
  Message message;
  message.type = uint8_t(MessageType::kCall);
  message.call = token;
  message.meta = encode(Call{segment});
  message.tensors = std::move(inputs);
  send(task, std::move(message));
}

void RemoteStep::send(int task, Message message) {
  Line& l = line(task);
  message.session = tasks_.options_.session;
  message.incarnation = tasks_.options_.incarnation;
  tasks_.calls_.fetch_add(1, std::memory_order_relaxed);
  try {
    l.lane->send(message, {deadline_, tasks_.options_.on_wait});
  } catch (const Error& e) {
    l.broken = true;
    throw e.at_task(tasks_.name(task));
  }
  l.waiting.push_back(message.call);
  ++waiting_;
}

bool RemoteStep::take(Line& l, Reply& reply) {
  Message message;
  if (!l.lane->try_receive(message)) return false;
  if (std::erase(l.waiting, message.call) == 0) {
    l.broken = true;
    throw data_loss("a reply to call {}, which was not made", message.call)
        .at_task(tasks_.name(l.task));
  }
  --waiting_;
  if (message.type == kErrorMessage) throw error_of(message).at_task(tasks_.name(l.task));
  reply.token = message.call;
  reply.outputs = std::move(message.tensors);
  return true;
}

bool RemoteStep::begin_wait() {
  std::lock_guard lock(mutex_);
  if (cancelled_) throw cancelled("the session was closed during this step");
  waits_ = !std::exchange(woken_, false);
  return waits_;
}

// True when it was woken, which the next begin_wait() tells.
bool RemoteStep::end_wait() {
  std::lock_guard lock(mutex_);
  waits_ = false;
  if (cancelled_) throw cancelled("the session was closed during this step");
  if (!woken_) return false;
  for (Line& l : lines_) l.lane->resume();
  return true;
}

bool RemoteStep::wait(Reply& reply, const WaitOptions& options) {
  for (;;) {
    pending_.clear();
    for (Line& l : lines_) {
      if (!l.waiting.empty()) pending_.push_back(l.lane.get());
    }
    if (!begin_wait()) return false;
    size_t index = 0;
    try {
      index = tasks_.transport_.wait_any(pending_, options);
    } catch (const Error& e) {
      if (end_wait() && e.code() == Code::kCancelled) continue;
      throw;
    }
    end_wait();
    for (Line& l : lines_) {
      if (l.lane.get() == pending_[index] && take(l, reply)) return true;
    }
  }
}

void RemoteStep::wake() {
  std::lock_guard lock(mutex_);
  woken_ = true;
  // Who does not wait looks before it does; a lane that is sending must not be disturbed.
  if (!waits_) return;
  for (Line& l : lines_) l.lane->cancel();
}

void RemoteStep::cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (Line& l : lines_) l.lane->cancel();
}

}  // namespace capstan
