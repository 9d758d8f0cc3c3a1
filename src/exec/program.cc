#include "exec/program.h"

#include <chrono>

#include "exec/frame.h"

namespace capstan {
namespace {

// Layouts kept per program; beyond that, odd shapes run through the dynamic one.
constexpr size_t kMaxLayouts = 8;
constexpr uint64_t kTimedEvery = 32;
constexpr double kLongRunUs = 20'000;
constexpr std::chrono::milliseconds kTickEvery{20};

// The place where a blocking op's start and its end meet; whoever comes second goes on. Holds the
// frame until then: the frame's own callback must not, or it would keep itself alive.
struct Meeting {
  std::atomic<bool> arrived{false};
  std::optional<Error> error;
  std::shared_ptr<Frame> frame;
  size_t position = 0;
  Program::Done done;
};

class ProgramImpl : public Program {
 public:
  ProgramImpl(Piece piece, std::shared_ptr<TaskState> task, std::shared_ptr<SessionState> session,
              ProgramOptions options)
      : piece_(std::move(piece)),
        task_(std::move(task)),
        session_(std::move(session)),
        options_(std::move(options)) {
    for (int id = 0; id < piece_.graph->size(); ++id) prepare(piece_.graph->node(id));
    for (const Node* arg : piece_.args) declared_.push_back(arg->output_shape(0));
  }

  bool blocking() const override { return blocking_; }
  double cost_us() const override { return cost_us_.load(std::memory_order_relaxed); }

  ProgramResult run(std::span<const Tensor> inputs, Cancellation& cancellation) override {
    CAPSTAN_CHECK(!blocking_);
    // Looking at the clock costs as much as a small op: every now and then is enough.
    bool timed = runs_.fetch_add(1, std::memory_order_relaxed) % kTimedEvery == 0;
    std::chrono::steady_clock::time_point begin;
    if (timed) begin = std::chrono::steady_clock::now();
    std::shared_ptr<Frame> frame = borrow(inputs);
    frame->set_inputs(inputs, cancellation);
    may_be_long() ? run_watched(*frame, cancellation) : void(frame->run(0));
    if (options_.rest) task_->pool.rest();
    ProgramResult result{frame->outputs(), std::move(frame)};
    if (options_.release_inputs) result.frame->clear();
    if (timed) note_cost(begin);
    return result;
  }

  void start(std::vector<Tensor> inputs, Cancellation& cancellation, Done done) override {
    try {
      std::shared_ptr<Frame> frame = borrow(inputs);
      frame->set_inputs(inputs, cancellation);
      advance(std::move(frame), 0, std::move(done));
    } catch (...) {
      Error error = current_error();
      done(&error, {});
    }
  }

 private:
  struct Slot {
    std::unique_ptr<Layout> layout;
    std::vector<std::unique_ptr<Frame>> idle;
    bool any = false;      // made for inputs of any shape
    bool retired = false;  // frames that come back are let go
  };

  void prepare(const Node& node) {
    if (node.op() == "_Arg") check_argument(node);
    blocking_ |= node.def().blocking != nullptr;
    bool runs = node.def().kernel || node.def().block || node.def().blocking ||
                node.def().variable || node.op() == "_Arg";
    if (!runs)
      throw Error(Code::kUnimplemented, fmt::format("op {} has no kernel", node.op()), node.name());
    try {
      states_.push_back(node.def().prepare ? node.def().prepare(node) : nullptr);
    } catch (const Error& e) {
      throw e.at_op(node.name());
    }
  }

  void check_argument(const Node& node) const {
    const auto index = node.attrs().get<int64_t>("index");
    const bool ours = index >= 0 && size_t(index) < piece_.args.size();
    if (ours && piece_.args[size_t(index)] == &node) return;
    throw Error(Code::kInvalidArgument,
                fmt::format("_Arg stands for a value that comes into a piece; there is none with "
                            "the index {}",
                            index),
                node.name());
  }

  void note_cost(std::chrono::steady_clock::time_point begin) {
    double us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    double old = cost_us_.load(std::memory_order_relaxed);
    cost_us_.store(old == 0 ? us : old + (us - old) / 8, std::memory_order_relaxed);
  }

  // Also when nothing is known yet.
  bool may_be_long() const {
    double us = cost_us();
    return us == 0 || us > kLongRunUs;
  }

  // A run of seconds can be ended between its ops.
  void run_watched(Frame& frame, Cancellation& cancellation) {
    auto last = std::chrono::steady_clock::now();
    for (size_t at = 0; at < frame.actions();) {
      at = frame.run(at, at + 1);
      auto now = std::chrono::steady_clock::now();
      if (now - last < kTickEvery) continue;
      last = now;
      if (cancellation.cancelled()) throw cancelled("the step was cancelled");
      if (options_.on_tick) options_.on_tick();
    }
  }

  // Whether it foresees the shapes of variables, of which some are no longer those declared.
  bool outdated(const Layout& layout) const {
    return !layout.reshaped && task_->variables.reshaped();
  }

  bool fits(const Layout& layout, std::span<const Tensor> inputs) const {
    if (outdated(layout)) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!(layout.inputs[i] == inputs[i].shape())) return false;
    }
    return true;
  }

  // A frame for these shapes; it returns to its slot when the last holder lets go.
  std::shared_ptr<Frame> borrow(std::span<const Tensor> inputs) {
    if (inputs.size() != piece_.args.size()) {
      throw internal_error("a segment of {} inputs was called with {}", piece_.args.size(),
                           inputs.size());
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const DType wanted = piece_.args[i]->output_type(0);
      if (inputs[i].dtype() != wanted) {
        throw invalid_argument("input {} of a segment is {}, it came as {}", i, dtype_name(wanted),
                               dtype_name(inputs[i].dtype()));
      }
    }
    std::unique_lock lock(mutex_);
    Slot& slot = find_slot(inputs);
    std::unique_ptr<Frame> frame;
    if (!slot.idle.empty()) {
      frame = std::move(slot.idle.back());
      slot.idle.pop_back();
    } else {
      lock.unlock();
      frame = std::make_unique<Frame>(piece_, *slot.layout, task_, session_, options_, states_);
    }
    Frame* raw = frame.release();
    return {raw, [self = shared_from_this(), this, &slot](Frame* f) {
              std::unique_ptr<Frame> owned(f);
              owned->clear();
              std::lock_guard guard(mutex_);
              if (!slot.retired) slot.idle.push_back(std::move(owned));
            }};
  }

  Slot& find_slot(std::span<const Tensor> inputs) {
    if (options_.foresight != Foresight::kGiven)
      return dynamic_slot(options_.foresight == Foresight::kDeclared && as_declared(inputs));
    if (last_ && fits(*last_->layout, inputs)) return *last_;
    for (auto& slot : slots_) {
      if (fits(*slot->layout, inputs)) return *(last_ = slot.get());
    }
    retire_outdated();
    if (slots_.size() >= kMaxLayouts) return dynamic_slot(as_declared(inputs));
    std::vector<Shape> shapes;
    for (const Tensor& t : inputs) shapes.push_back(t.shape());
    slots_.push_back(std::make_unique<Slot>(Slot{layout_for(std::move(shapes)), {}}));
    return *(last_ = slots_.back().get());
  }

  // They stay, without their memory: frames in use point to them.
  void retire_outdated() {
    for (auto& slot : slots_) {
      if (!outdated(*slot->layout)) continue;
      slot->retired = true;
      slot->idle.clear();
      retired_.push_back(std::move(slot));
    }
    std::erase(slots_, nullptr);
  }

  // A variable of another task may have taken another shape than its node declares, and with it all
  // that is made of its value.
  bool as_declared(std::span<const Tensor> inputs) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].shape().compatible_with(declared_[i])) return false;
    }
    return true;
  }

  // Kept apart from the slots of given shapes: frames point to the slot that they came from.
  Slot& dynamic_slot(bool as_declared) {
    for (auto& slot : dynamic_) {
      if (!outdated(*slot->layout) && (as_declared || slot->any)) return *slot;
    }
    std::vector<Shape> shapes = declared_;
    if (!as_declared) shapes.assign(declared_.size(), Shape::unknown());
    dynamic_.push_back(
        std::make_unique<Slot>(Slot{layout_for(std::move(shapes)), {}, !as_declared}));
    return *dynamic_.back();
  }

  std::unique_ptr<Layout> layout_for(std::vector<Shape> shapes) {
    RunContext run;
    Cancellation none;
    run.task = task_.get();
    run.session = session_.get();
    run.cancellation = &none;
    return make_layout(piece_, std::move(shapes), run, options_);
  }

  // Runs from `position`; at a blocking op the frame waits and nobody's thread does.
  void advance(std::shared_ptr<Frame> frame, size_t position, Done done) {
    std::optional<Error> failure;
    try {
      for (;;) {
        position = frame->run(position);
        if (position == frame->actions()) break;
        auto meeting = std::make_shared<Meeting>();
        meeting->frame = frame;
        meeting->position = position;
        meeting->done = done;
        frame->start_blocking(position,
                              [self = shared_from_this(), this, meeting](const Error* error) {
                                if (error) meeting->error = *error;
                                if (meeting->arrived.exchange(true)) resume(meeting);
                              });
        if (!meeting->arrived.exchange(true)) return;  // still waiting: the callback goes on
        meeting->frame.reset();
        if (meeting->error) throw *meeting->error;
        ++position;
      }
    } catch (...) {
      failure = current_error();
    }
    if (options_.rest) task_->pool.rest();
    if (failure) {
      done(&*failure, {});
    } else {
      done(nullptr, {frame->outputs(), frame});
    }
  }

  // The blocked op ended after start had returned: go on, but not on the stack of whoever ended it.
  void resume(std::shared_ptr<Meeting> meeting) {
    task_->post([self = shared_from_this(), this, meeting] {
      std::shared_ptr<Frame> frame = std::move(meeting->frame);
      if (meeting->error) {
        meeting->done(&*meeting->error, {});
      } else {
        advance(std::move(frame), meeting->position + 1, std::move(meeting->done));
      }
    });
  }

  Piece piece_;
  std::shared_ptr<TaskState> task_;
  std::shared_ptr<SessionState> session_;
  ProgramOptions options_;
  std::vector<std::shared_ptr<void>> states_;  // by node id
  std::vector<Shape> declared_;
  bool blocking_ = false;
  std::atomic<double> cost_us_{0};
  std::atomic<uint64_t> runs_{0};
  std::mutex mutex_;  // guards the slots
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<Slot>> dynamic_, retired_;
  Slot* last_ = nullptr;
};

}  // namespace

std::shared_ptr<Program> Program::make(Piece piece, std::shared_ptr<TaskState> task,
                                       std::shared_ptr<SessionState> session,
                                       ProgramOptions options) {
  return std::make_shared<ProgramImpl>(std::move(piece), std::move(task), std::move(session),
                                       std::move(options));
}

}  // namespace capstan
