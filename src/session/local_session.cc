// A session in this process alone, with a store of its own.

#include "base/isa.h"
#include "base/poster.h"
#include "session/task_session.h"

namespace capstan {
namespace {

class LocalSession : public TaskSession {
 public:
  LocalSession(Graph& graph, const SessionOptions& options) : TaskSession(graph, options) {
    const int threads = options.threads > 0 ? options.threads : kernel_threads(1);
    task_ = std::make_shared<TaskState>(placement_.tasks[0], threads, posix_files(),
                                        isa_from(options.isa));
    task_->post = [poster = poster_](std::function<void()> f) { poster->post(std::move(f)); };
  }

  uint64_t remote_calls() const override { return 0; }

 private:
  void ship(const Segment&, Executable::Part&) override {
    throw internal_error("a plan of one process has a segment elsewhere");
  }
  void adapt(ProgramOptions&, const Plan&, std::set<int>) const override {}

  std::shared_ptr<Poster> poster_ = std::make_shared<Poster>();
};

}  // namespace

std::unique_ptr<SessionBackend> make_local_session(Graph& graph, const SessionOptions& options) {
  return std::make_unique<LocalSession>(graph, options);
}

}  // namespace capstan
