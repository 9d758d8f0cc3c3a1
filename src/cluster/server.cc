#include "cluster/server.h"

#include <algorithm>
#include <thread>

#include "base/isa.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "cluster/protocol.h"
#include "cluster/secret.h"
#include "cluster/service.h"
#include "cluster/tell.h"
#include "net/lane.h"
#include "net/server.h"

namespace capstan {
namespace {

uint16_t port_of(const std::string& address) {
  size_t colon = address.rfind(':');
  return colon == address.npos ? 0
                               : uint16_t(std::strtoul(address.c_str() + colon + 1, nullptr, 10));
}

std::string resolved(const std::vector<ResolveRule>& rules, const std::string& address) {
  Settings settings;
  settings.resolve = rules;
  return settings.resolve_address(address);
}

// A parameter server has all cores: it works while its workers wait for it, in short bursts.
int threads_of(const TaskOptions& options) {
  if (options.threads > 0) return options.threads;
  return kernel_threads(options.job == "ps" ? 1 : options.workers_on_host);
}

// Small tensors cost less as bytes in a frame; strings cannot be mapped.
bool worth_mapping(DType dtype, const Shape& shape) {
  constexpr size_t kWorthMapping = 8192;
  return dtype != DType::kString && size_t(shape.elements()) * dtype_size(dtype) >= kWorthMapping;
}

// Variables that peers of this host look at where they are.
class SharedVariables : public VariableMemory {
 public:
  explicit SharedVariables(std::shared_ptr<SharedArena> arena) : arena_(std::move(arena)) {}

  Tensor allocate(DType dtype, const Shape& shape) override {
    if (!worth_mapping(dtype, shape)) return Tensor(dtype, shape);
    return arena_->allocate(dtype, shape, Sharing::kLive);
  }
  bool begin_write(const Tensor& value) override { return arena_->begin_write(value.raw()); }
  void end_write(const Tensor& value) override { arena_->end_write(value.raw()); }

 private:
  const std::shared_ptr<SharedArena> arena_;
};

class TaskServer : public Server {
 public:
  TaskServer(const Catalog& catalog, TaskOptions options)
      : catalog_(catalog),
        options_(std::move(options)),
        name_(fmt::format("/job:{}/task:{}", options_.job, options_.task)),
        incarnation_(SystemRandom().u64()),
        members_(options_.cluster) {
    std::string own = options_.cluster.address(options_.job, options_.task);
    arena_ = SharedArena::make();
    make_state();
    service_ = std::make_unique<Service>(catalog, members_, state_);
    Identity self = identity();
    loop_ = listen(self, resolved(options_.resolve, own));
    transport_ = make_transport(self);
    target_ = fmt::format("grpc://{}:{}", own.substr(0, own.rfind(':')), loop_->port());
    // Continuations of blocked segments run where their calls are read.
    state_->post = [loop = &loop_->loop()](std::function<void()> f) { loop->post(std::move(f)); };
    thread_ = std::thread([this] { loop_->run(); });
  }

  ~TaskServer() override { stop(); }

  const Catalog& catalog() const override { return catalog_; }
  std::string target() const override { return target_; }
  const TaskOptions& options() const override { return options_; }
  const std::shared_ptr<TaskState>& state() const override { return state_; }
  std::string task_name() const override { return name_; }
  Tensor allocate_shared(DType dtype, const Shape& shape) override {
    if (!shares() || !is_floating(dtype) || !worth_mapping(dtype, shape)) return {};
    return arena_->try_allocate(dtype, shape);
  }
  Transport& transport() override { return *transport_; }
  uint64_t incarnation() const override { return incarnation_; }
  uint64_t messages() const override { return service_->messages(); }
  void set_master(std::shared_ptr<Master> master) override {
    service_->set_master(std::move(master));
  }

  std::string address_of(const std::string& job, int task) const override {
    return resolved(options_.resolve, options_.cluster.address(job, task));
  }

  void join(bool trained) override {
    bool left = trained || members_.of(name_).left;
    if (takes_part_in_training(options_.job)) tell_others({.left = left, .serves = true});
    members_.wait_until_over();
  }

  void stop() override {
    service_->stop();
    loop_->stop();
    if (!thread_.joinable() || thread_.get_id() == std::this_thread::get_id()) return;
    thread_.join();
    service_->finish();
  }

  bool has_left(const std::string& job, int task) const override {
    return members_.of(fmt::format("/job:{}/task:{}", job, task)).left;
  }

  void leave() override {
    std::string missed, reason;
    for (const Told& told : tell_others({.left = true})) {
      // Others that train, or have gone, need no farewell.
      bool waits = told.task.starts_with("/job:ps/") || members_.of(told.task).serves;
      if (!told.error || !waits) continue;
      missed += (missed.empty() ? "" : ", ") + told.task;
      reason = told.error->message();
    }
    if (!missed.empty() && options_.on_notice)
      options_.on_notice(fmt::format("could not say goodbye to {}: {}", missed, reason));
  }

 private:
  Identity identity() const {
    Identity self;
    self.name = fmt::format("{}/{}", options_.job, options_.task);
    self.incarnation = incarnation_;
    self.secret = options_.secret;
    std::string file = options_.secret_file.empty() ? user_secret_path() : options_.secret_file;
    if (self.secret.empty()) self.secret = derive_secret(file, options_.cluster);
    try {
      self.client_secret = client_secret(file);
    } catch (const Error&) {
      // The job has a secret of its own; clients have to know that one.
    }
    return self;
  }

  void make_state() {
    state_ = std::make_shared<TaskState>(name_, threads_of(options_), posix_files(),
                                         isa_from(options_.isa));
    if (shares()) state_->variable_memory = std::make_shared<SharedVariables>(arena_);
  }

  bool shares() const {
    return options_.transport == TransportKind::kAuto || options_.transport == TransportKind::kShm;
  }

  ChannelOptions channel_options() const {
    ChannelOptions channel;
    channel.arena = arena_;
    channel.pool = pool_;
    return channel;
  }

  std::unique_ptr<ServerLoop> listen(const Identity& self, const std::string& address) {
    ServerOptions listen;
    listen.address = address;
    listen.listen_fd = options_.listen_fd.value_or(-1);
    listen.local = options_.transport != TransportKind::kTcp;
    listen.self = self;
    listen.channel = channel_options();
    if (auto notice = options_.on_notice) {
      listen.on_refused = [notice](const Error& e) {
        notice(fmt::format("refused a connection: {}", e.message()));
      };
    }
    return std::make_unique<ServerLoop>(std::move(listen), *service_);
  }

  std::unique_ptr<Transport> make_transport(const Identity& self) const {
    LaneOptions lane;
    lane.kind = options_.transport;
    lane.self = self;
    lane.channel = channel_options();
    return std::make_unique<SocketTransport>(std::move(lane));
  }

  // Everybody that is there. Of two tasks the later one tells both: the answer is the other's news.
  std::vector<Told> tell_others(Standing standing) {
    members_.note(name_, incarnation_, standing);
    std::vector<Told> others;
    for (const auto& [job, tasks] : options_.cluster.jobs()) {
      for (const auto& [task, address] : tasks) {
        std::string name = fmt::format("/job:{}/task:{}", job, task);
        if (name == name_ || is_gone(name)) continue;
        others.push_back({.task = name, .address = address_of(job, task)});
      }
    }
    Message word;
    word.type = uint8_t(MessageType::kNews);
    word.incarnation = incarnation_;
    word.meta = encode({News{name_, incarnation_, standing}});
    tell(*transport_, others, word, [this](const std::string& task) { return is_gone(task); });
    for (Told& told : others) take_news(told);
    return others;
  }

  // What a task says of itself is so. What it heard of others fills gaps: those who have left
  // cannot tell a task that came later.
  void take_news(Told& told) {
    if (told.error) return;
    try {
      for (const News& news : decode_news(told.answer)) {
        if (news.task == told.task)
          members_.note(news.task, told.incarnation, news.standing);
        else
          members_.hear(news.task, news.incarnation, news.standing);
      }
    } catch (const Error& e) {
      told.error = e;
    }
  }

  bool is_gone(const std::string& task) const {
    Standing standing = members_.of(task);
    return standing.left && !standing.serves;
  }

  const Catalog& catalog_;
  const TaskOptions options_;
  const std::string name_;
  const uint64_t incarnation_;
  Membership members_;
  std::string target_;
  std::shared_ptr<SharedArena> arena_;
  const std::shared_ptr<ReceivePool> pool_ = std::make_shared<ReceivePool>();
  std::shared_ptr<TaskState> state_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<ServerLoop> loop_;
  std::unique_ptr<Transport> transport_;
  std::thread thread_;
};

}  // namespace

void apply_settings(const Settings& settings, TaskOptions& options) {
  options.secret = settings.secret;
  options.secret_file = settings.secret_file;
  options.transport = settings.transport;
  options.threads = settings.threads;
  options.workers_on_host = settings.workers_on_host;
  options.resolve = settings.resolve;
  if (!options.cluster.has(options.job, options.task)) return;
  std::string address =
      settings.resolve_address(options.cluster.address(options.job, options.task));
  int fd = inherited_listener(settings, port_of(address));
  if (fd >= 0) options.listen_fd = fd;
}

std::shared_ptr<Server> Server::start(const Catalog& catalog, TaskOptions options) {
  return std::make_shared<TaskServer>(catalog, std::move(options));
}

}  // namespace capstan
