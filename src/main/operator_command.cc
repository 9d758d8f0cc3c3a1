#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/printable.h"
#include "base/random.h"
#include "jobs/job_record.h"
#include "jobs/k8s/crd.h"
#include "jobs/k8s/http_api.h"
#include "jobs/k8s/kube_config.h"
#include "jobs/k8s/lease.h"
#include "jobs/k8s/operator.h"
#include "jobs/local/pipes.h"
#include "jobs/poll_loop.h"
#include "jobs/random_hex.h"
#include "main/options.h"

namespace capstan::cli {
namespace {

constexpr const char* kLeaseName = "capstan-operator";
constexpr double kLastWords = 2.0;  // seconds for events that are still to be written

// One line on stderr; whoever runs it adds the time.
void say(std::string_view text) {
  std::fputs(fmt::format("capstan operator: {}\n", printable(std::string(text))).c_str(), stderr);
}

// Acts while it leads, which without an election is always.
class OperatorProcess final : private jobs::k8s::LeaseHolder {
 public:
  OperatorProcess(jobs::PollLoop& loop, const OperatorOptions& options)
      : loop_(loop),
        options_(options),
        api_(loop, jobs::k8s::load_kube_config({options.kubeconfig, options.context, options.space},
                                               jobs::k8s::kube_environment())) {
    say(fmt::format("{} ({})", api_.config().server, api_.config().source));
    options.leader_elect ? stand_for_election() : leads();
  }

  void end() {
    ending_ = true;
    deadline_ = loop_.now() + std::chrono::milliseconds(int(kLastWords * 1000));
    loop_.at(deadline_, [] {});
    if (election_) election_->release([this] { released_ = true; });
  }
  bool ended() const {
    if (!ending_) return false;
    const bool quiet = (!operator_ || operator_->idle()) && (!election_ || released_);
    return quiet || loop_.now() >= deadline_;
  }

 private:
  void stand_for_election() {
    jobs::k8s::LeaseOptions lease;
    lease.lease = {options_.lease_space.empty() ? api_.config().space : options_.lease_space,
                   kLeaseName};
    lease.identity = fmt::format("{}_{}", jobs::host_name(), jobs::random_hex(4));
    jobs::k8s::LeaseHolder& holder = *this;
    election_.emplace(api_, loop_, random_, lease, holder);
    election_->start();
  }
  void leads() override {
    if (election_) say("leads");
    jobs::k8s::OperatorOptions settings;
    settings.space = options_.space;
    settings.cluster = {.take_over = options_.take_over,
                        .domain = options_.domain,
                        .gang_scheduler = options_.gang_scheduler};
    settings.events.host = jobs::host_name();
    operator_ = std::make_unique<jobs::k8s::Operator>(api_, loop_, random_, settings, say);
    operator_->start();
    look_at_definition();
  }
  // It works with others too; whoever wonders where a field went finds it in the log.
  void look_at_definition() {
    api_.call({.resource = jobs::k8s::kCrds, .object = {"", "tfjobs.kubeflow.org"}},
              [](const jobs::k8s::ApiAnswer& answer) {
                const std::string text =
                    answer.ok() ? jobs::k8s::crd_note(*answer.body) : answer.error->message();
                if (!text.empty()) say(text);
              });
  }
  void leads_no_more(const Error& why) override {
    say("leads no more: " + why.message());
    operator_.reset();
  }
  void follows(const std::string& identity) override {
    say(identity.empty() ? "nobody leads" : identity + " leads");
  }
  void troubled(const Error& error) override { say(error.message()); }

  jobs::PollLoop& loop_;
  const OperatorOptions& options_;
  SystemRandom random_;
  jobs::k8s::HttpApi api_;
  std::unique_ptr<jobs::k8s::Operator> operator_;
  std::optional<jobs::k8s::LeaderElection> election_;
  bool ending_ = false, released_ = false;
  Deadline deadline_{};
};

}  // namespace

int run_operator(const OperatorOptions& options) {
  const Fd signals = jobs::signals_as_fd({SIGINT, SIGTERM});
  jobs::PollLoop loop;
  OperatorProcess process(loop, options);
  loop.watch(signals.get(), [&] {
    signalfd_siginfo info{};
    if (read(signals.get(), &info, sizeof info) != sizeof info) return;
    say(fmt::format("{}: ends; pods go on", jobs::signal_name(int(info.ssi_signo))));
    process.end();
  });
  loop.run_until([&] { return process.ended(); });
  loop.unwatch(signals.get());
  return 0;
}

}  // namespace capstan::cli
