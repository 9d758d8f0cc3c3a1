#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/task_channel.h"
#include "cluster/server.h"
#include "main/options.h"
#include "ops/catalog.h"
#include "session/master.h"

namespace capstan::cli {
namespace {

TaskOptions task_options(const ServerOptions& options, const Settings& settings) {
  TaskOptions task;
  task.cluster = ClusterSpec::from_json(options.cluster);
  task.job = options.job;
  task.task = options.task;
  task.on_notice = print_notice;
  apply_settings(settings, task);
  return task;
}

void serve(const TaskOptions& task, TaskChannel& channel) {
  std::shared_ptr<Server> server = Server::start(standard_catalog(), task);
  conduct_for_clients(*server);
  fmt::print("{} serves at {}\n", server->task_name(), server->target());
  std::fflush(stdout);
  channel.serves(false);
  server->join();
  channel.end();
}

}  // namespace

int run_server(const ServerOptions& options) {
  Settings settings = settings_from_environment();
  TaskChannel channel(settings.task_fd);
  try {
    serve(task_options(options, settings), channel);
  } catch (const Error& error) {
    channel.error(error);
    throw;
  }
  return 0;
}

}  // namespace capstan::cli
