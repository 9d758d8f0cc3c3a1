#include "train/hooks.h"

namespace capstan {
namespace {

using Clock = std::chrono::steady_clock;

class StopAtStep : public Hook {
 public:
  explicit StopAtStep(int64_t last) : last_(last) {}
  bool after_run(Session&, std::span<const Tensor>, int64_t step) override { return step >= last_; }

 private:
  const int64_t last_;
};

class CheckpointEvery : public Hook {
 public:
  CheckpointEvery(std::shared_ptr<Saver> saver, std::string dir, std::chrono::seconds every)
      : saver_(std::move(saver)), path_(join_path(dir, "model.ckpt")), every_(every) {}

  void after_create_session(Session& session, int64_t step) override { save(session, step); }

  bool after_run(Session& session, std::span<const Tensor>, int64_t step) override {
    if (Clock::now() - last_ >= every_) save(session, step);
    return false;
  }

  void end(Session& session, int64_t step) override {
    if (step != saved_step_) save(session, step);
  }

 private:
  void save(Session& session, int64_t step) {
    saver_->save(session, path_, step);
    saved_step_ = step;
    last_ = Clock::now();
  }

  const std::shared_ptr<Saver> saver_;
  const std::string path_;
  const std::chrono::seconds every_;
  int64_t saved_step_ = -1;
  Clock::time_point last_;
};

class SummariesEvery : public Hook {
 public:
  SummariesEvery(std::shared_ptr<EventWriter> writer, Output summaries, int64_t steps)
      : writer_(std::move(writer)), summaries_(summaries), steps_(steps) {}

  std::vector<Output> before_run() override {
    asked_ = seen_ % steps_ == 0;
    return asked_ ? std::vector<Output>{summaries_} : std::vector<Output>{};
  }

  bool after_run(Session&, std::span<const Tensor> values, int64_t step) override {
    ++seen_;
    if (asked_) writer_->add_summary(*values[0].data<std::string>(), step);
    return false;
  }

  void end(Session&, int64_t) override { writer_->flush(); }

 private:
  const std::shared_ptr<EventWriter> writer_;
  const Output summaries_;
  const int64_t steps_;
  int64_t seen_ = 0;
  bool asked_ = false;
};

class CountSteps : public Hook {
 public:
  CountSteps(std::shared_ptr<EventWriter> writer, int64_t steps)
      : writer_(std::move(writer)), steps_(steps) {}

  bool after_run(Session&, std::span<const Tensor>, int64_t step) override {
    auto now = Clock::now();
    if (last_step_ < 0) {
      last_step_ = step;
      last_ = now;
    }
    if (step - last_step_ < steps_) return false;
    double seconds = std::chrono::duration<double>(now - last_).count();
    if (seconds > 0)
      writer_->add_scalar("global_step/sec", float(double(step - last_step_) / seconds), step);
    last_step_ = step;
    last_ = now;
    return false;
  }

 private:
  const std::shared_ptr<EventWriter> writer_;
  const int64_t steps_;
  int64_t last_step_ = -1;
  Clock::time_point last_;
};

class TellLauncher : public Hook {
 public:
  TellLauncher(std::shared_ptr<TaskChannel> channel, std::shared_ptr<StepReporter> reporter,
               Output loss)
      : channel_(std::move(channel)), reporter_(std::move(reporter)), loss_(loss) {}

  std::vector<Output> before_run() override {
    return loss_ ? std::vector<Output>{loss_} : std::vector<Output>{};
  }
  bool after_run(Session&, std::span<const Tensor> values, int64_t step) override {
    const bool reached = reporter_->reached(step);
    if (reached || reporter_->due()) {
      reporter_->report(step, values.empty() ? std::nullopt : number(values[0]));
    }
    return reached;
  }
  void end(Session&, int64_t step) override {
    reporter_->finish(step);
    channel_->end();
  }

 private:
  static std::optional<double> number(const Tensor& t) {
    if (t.size() != 1) return std::nullopt;
    if (t.dtype() == DType::kFloat) return double(*t.data<float>());
    if (t.dtype() == DType::kDouble) return *t.data<double>();
    return std::nullopt;
  }

  const std::shared_ptr<TaskChannel> channel_;
  const std::shared_ptr<StepReporter> reporter_;
  const Output loss_;
};

}  // namespace

std::shared_ptr<Hook> stop_at_step(int64_t last_step) {
  return std::make_shared<StopAtStep>(last_step);
}

std::shared_ptr<Hook> checkpoint_every(std::shared_ptr<Saver> saver, std::string dir,
                                       std::chrono::seconds every) {
  return std::make_shared<CheckpointEvery>(std::move(saver), std::move(dir), every);
}

std::shared_ptr<Hook> summaries_every(std::shared_ptr<EventWriter> writer, Output summaries,
                                      int64_t steps) {
  return std::make_shared<SummariesEvery>(std::move(writer), summaries, steps);
}

std::shared_ptr<Hook> count_steps(std::shared_ptr<EventWriter> writer, int64_t steps) {
  return std::make_shared<CountSteps>(std::move(writer), steps);
}

std::shared_ptr<Hook> tell_launcher(std::shared_ptr<TaskChannel> channel,
                                    std::shared_ptr<StepReporter> reporter, Output loss) {
  return std::make_shared<TellLauncher>(std::move(channel), std::move(reporter), loss);
}

}  // namespace capstan
