#include "cluster.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/settings.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

using Jobs = std::map<std::string, std::map<int, std::string>>;

struct ServerHandle {
  std::shared_ptr<Server> server;
  // Its threads may be waiting for the interpreter.
  ~ServerHandle() {
    nb::gil_scoped_release release;
    server.reset();
  }
};

ClusterSpec spec_of(const Jobs& jobs) {
  ClusterSpec spec;
  for (const auto& [job, tasks] : jobs) {
    for (const auto& [index, address] : tasks) spec.add_task(job, index, address);
  }
  return spec;
}

void start(ServerHandle* self, const Jobs& jobs, const std::string& job, int task,
           const std::string& protocol) {
  TaskOptions options;
  options.cluster = spec_of(jobs);
  options.job = job;
  options.task = task;
  options.protocol = protocol;
  options.on_notice = [](const std::string& line) { fmt::print(stderr, "capstan: {}\n", line); };
  apply_settings(settings_from_environment(), options);
  new (self) ServerHandle();
  nb::gil_scoped_release release;
  self->server = Server::start(standard_catalog(), std::move(options));
}

}  // namespace

std::shared_ptr<Server> server_of(nb::handle server) {
  return server.is_none() ? nullptr : nb::cast<ServerHandle&>(server).server;
}

void bind_cluster(nb::module_& m) {
  nb::class_<ServerHandle>(m, "ServerBase", nb::is_weak_referenceable())
      .def("__init__", &start)
      .def_prop_ro("target", [](ServerHandle& self) { return self.server->target(); })
      .def("_join",
           [](ServerHandle& self) {
             nb::gil_scoped_release release;
             self.server->join();
           })
      .def("_leave",
           [](ServerHandle& self) {
             nb::gil_scoped_release release;
             self.server->leave();
           })
      .def("_stop", [](ServerHandle& self) {
        nb::gil_scoped_release release;
        self.server->stop();
      });
}

}  // namespace capstan
