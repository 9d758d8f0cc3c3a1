#include "session/conductor.h"

namespace capstan {

Conductor::Conductor(const Executable& executable, std::span<const Tensor> feeds,
                     RemoteTasks* remote, const SessionOptions& options, Deadline deadline)
    : executable_(executable),
      feeds_(feeds),
      remote_tasks_(remote),
      options_(options),
      deadline_(deadline),
      mailbox_(std::make_shared<Mailbox>()),
      outputs_(executable.parts.size()),
      frames_(executable.parts.size()) {
  waits_for_.reserve(executable.parts.size());
  takers_.reserve(executable.parts.size());
  for (size_t i = 0; i < executable.parts.size(); ++i) {
    waits_for_.push_back(executable.parts[i].waits_for);
    takers_.push_back(executable.parts[i].takers);
    if (waits_for_[i] == 0)
      (executable.parts[i].task ? ready_remote_ : ready_local_).push_back(int(i));
    if (executable.parts[i].task && !remote_)
      remote_ = std::make_unique<RemoteStep>(*remote_tasks_, deadline_);
  }
  mailbox_->wake = remote_.get();
}

Conductor::~Conductor() {
  {
    std::lock_guard lock(mailbox_->mutex);
    mailbox_->wake = nullptr;
  }
  mailbox_->cancellation.cancel();
}

std::function<void()> Conductor::canceller() const {
  return [mailbox = mailbox_] {
    mailbox->cancellation.cancel();
    std::lock_guard lock(mailbox->mutex);
    if (mailbox->wake) mailbox->wake->cancel();
    mailbox->arrived.notify_all();
  };
}

RunResult Conductor::run() {
  while (finished_ < executable_.parts.size()) {
    launch_ready();
    if (finished_ == executable_.parts.size()) break;
    if (ready_remote_.empty() && ready_local_.empty()) wait();
  }
  return result();
}

// Remote parts go out first, so that their tasks work while this one does.
void Conductor::launch_ready() {
  while (!ready_remote_.empty() || !ready_local_.empty()) {
    std::vector<int>& list = ready_remote_.empty() ? ready_local_ : ready_remote_;
    int part = list.front();
    list.erase(list.begin());
    launch(part);
  }
}

void Conductor::launch(int number) {
  const Executable::Part& part = executable_.parts[size_t(number)];
  if (part.task != 0) {
    remote_->call(part.task, part.shipped, uint64_t(number), inputs_of(part));
  } else if (part.blocking) {
    start_blocking(number);
  } else {
    ProgramResult result = part.program->run(inputs_of(part), mailbox_->cancellation);
    frames_[size_t(number)] = std::move(result.frame);
    complete(number, std::move(result.outputs));
  }
}

void Conductor::start_blocking(int number) {
  const Executable::Part& part = executable_.parts[size_t(number)];
  ++blocked_;
  auto done = [mailbox = mailbox_, number](const Error* error, ProgramResult result) {
    std::lock_guard lock(mailbox->mutex);
    Mailbox::Letter letter{number, {}, std::move(result)};
    if (error) letter.error = *error;
    mailbox->letters.push_back(std::move(letter));
    if (mailbox->wake) mailbox->wake->wake();
    mailbox->arrived.notify_all();
  };
  part.program->start(inputs_of(part), mailbox_->cancellation, std::move(done));
}

const Tensor& Conductor::value(const Source& source) const {
  if (source.segment < 0) return feeds_[size_t(source.index)];
  return outputs_[size_t(source.segment)][size_t(source.index)];
}

std::vector<Tensor> Conductor::inputs_of(const Executable::Part& part) const {
  std::vector<Tensor> inputs;
  inputs.reserve(part.inputs.size());
  for (const Source& source : part.inputs) inputs.push_back(value(source));
  return inputs;
}

void Conductor::complete(int number, std::vector<Tensor> outputs) {
  const Executable::Part& part = executable_.parts[size_t(number)];
  if (int(outputs.size()) != part.outputs) {
    throw internal_error("a segment returned {} values where {} were expected", outputs.size(),
                         part.outputs);
  }
  outputs_[size_t(number)] = std::move(outputs);
  waits_for_[size_t(number)] = -1;
  quiet_since_ = {};
  ++finished_;
  let_go_of_inputs(part);
  for (int next : part.next) {
    if (--waits_for_[size_t(next)] > 0) continue;
    (executable_.parts[size_t(next)].task ? ready_remote_ : ready_local_).push_back(next);
  }
}

// As early as can be: a server that lent us a variable changes it in place once we are done with
// it.
void Conductor::let_go_of_inputs(const Executable::Part& part) {
  for (int giver : part.givers) {
    if (--takers_[size_t(giver)] > 0) continue;
    outputs_[size_t(giver)].clear();
    frames_[size_t(giver)].reset();
  }
}

bool Conductor::take_letter() {
  Mailbox::Letter letter;
  {
    std::lock_guard lock(mailbox_->mutex);
    if (mailbox_->letters.empty()) return false;
    letter = std::move(mailbox_->letters.front());
    mailbox_->letters.pop_front();
  }
  --blocked_;
  if (letter.error) throw *letter.error;
  frames_[size_t(letter.part)] = std::move(letter.result.frame);
  complete(letter.part, std::move(letter.result.outputs));
  return true;
}

void Conductor::wait() {
  if (blocked_ && take_letter()) return;
  if (!remote_ || remote_->idle()) return wait_for_letter();
  RemoteStep::Reply reply;
  if (remote_->wait(reply, {deadline_, on_wait_}))
    complete(int(reply.token), std::move(reply.outputs));
}

// Several times a second while nothing happens. Says what is waited for after five seconds, and
// then ever more rarely.
void Conductor::on_wait() {
  if (options_.on_wait) options_.on_wait();
  if (!options_.on_notice) return;
  const Deadline now = std::chrono::steady_clock::now();
  if (quiet_since_ == Deadline{}) {
    quiet_since_ = now;
    next_notice_ = now + options_.notice_after;
  } else if (now >= next_notice_) {
    auto waited = std::chrono::round<std::chrono::seconds>(now - quiet_since_);
    options_.on_notice(
        fmt::format("a step has been waiting for {} s for {}", waited.count(), waited_for()));
    next_notice_ = now + (now - quiet_since_);
  }
}

std::string Conductor::waited_for() const {
  std::string out;
  for (size_t i = 0; i < executable_.parts.size(); ++i) {
    if (waits_for_[i] == 0) out += (out.empty() ? "" : ", ") + executable_.parts[i].label;
  }
  return out;
}

void Conductor::wait_for_letter() {
  CAPSTAN_CHECK(blocked_ > 0);
  constexpr std::chrono::milliseconds kSlice{100};
  std::unique_lock lock(mailbox_->mutex);
  while (mailbox_->letters.empty()) {
    if (std::chrono::steady_clock::now() >= deadline_)
      throw deadline_exceeded("the step did not end within its timeout");
    mailbox_->arrived.wait_for(lock, kSlice);
    if (!mailbox_->letters.empty()) return;
    lock.unlock();
    on_wait();
    lock.lock();
  }
}

RunResult Conductor::result() {
  // Values point into frames, and into what came off the wire: both live as long as the lease.
  struct Lease {
    std::vector<std::shared_ptr<void>> frames;
  };
  RunResult out;
  for (const Source& source : executable_.fetches) out.values.push_back(value(source));
  out.lease = std::make_shared<Lease>(Lease{std::move(frames_)});
  return out;
}

}  // namespace capstan
