#pragma once

// A task of a cluster: listens, holds the task's state, runs segments that peers ship to it.
// "A parameter server" is such a task whose variable store is not empty.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/transport.h"
#include "cluster/cluster_spec.h"
#include "kernel/task_state.h"

namespace capstan {

class Catalog;
class Master;

struct TaskOptions {
  ClusterSpec cluster;
  std::string job;
  int task = 0;
  std::string protocol = "grpc";  // what the program said; the wire is ours whatever it says
  std::optional<int> listen_fd;   // an inherited listening socket, instead of binding
  std::string secret;             // empty: derived from the user's secret file and the spec
  std::string secret_file;        // instead of the user's own
  TransportKind transport = TransportKind::kAuto;
  int threads = 0;  // kernel threads; 0: kernel_threads(workers_on_host), all cores for a "ps"
  int workers_on_host = 1;
  std::string isa;
  std::vector<ResolveRule> resolve;  // for hosts whose names mean something else here
  std::function<void(const std::string&)> on_notice;  // one line on what is being waited for
};

// Fills in what the launcher (or the user) says through CAPSTAN_*. Call once cluster, job and task
// are set: an inherited listening socket is taken only when it is the one of this task.
void apply_settings(const Settings& settings, TaskOptions& options);

class Server {
 public:
  // Binds at once (throws naming the port in use and what to do) and serves from its own thread.
  static std::shared_ptr<Server> start(const Catalog& catalog, TaskOptions options);
  virtual ~Server() = default;

  virtual const Catalog& catalog() const = 0;
  virtual std::string target() const = 0;  // "grpc://host:port"
  virtual const TaskOptions& options() const = 0;
  virtual const std::shared_ptr<TaskState>& state() const = 0;
  virtual std::string task_name() const = 0;  // "/job:ps/task:0"
  // Memory that tasks of this host can look at without a copy, for a value that is sent and not
  // written afterwards. An invalid Tensor where there is none, or where a copy costs less.
  virtual Tensor allocate_shared(DType dtype, const Shape& shape) = 0;
  // How this process reaches other tasks, with the job's secret.
  virtual Transport& transport() = 0;
  // A number that no other process of the job has, a restarted one of this task included.
  virtual uint64_t incarnation() const = 0;
  // The address of a task as sessions dial it: after --resolve.
  virtual std::string address_of(const std::string& job, int task) const = 0;
  // Messages taken so far: the tests count round trips.
  virtual uint64_t messages() const = 0;
  // Who conducts for clients outside the cluster; see cluster/service.h.
  virtual void set_master(std::shared_ptr<Master> master) = 0;
  // Whether that task has said so (see leave()).
  virtual bool has_left(const std::string& job, int task) const = 0;
  // Tells all others that this one's training has ended in good order: tasks that only serve wait
  // for that.
  virtual void leave() = 0;
  // Serves, and does nothing else from here on: a worker or chief says so to the others, and has
  // left if it trained before. Returns on stop(), or when the training is over
  // (cluster/membership.h).
  virtual void join(bool trained = false) = 0;
  virtual void stop() = 0;
};

}  // namespace capstan
