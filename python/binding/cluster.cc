#include "cluster.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/log.h"
#include "base/settings.h"
#include "gil.h"
#include "ops/catalog.h"
#include "session/master.h"

namespace capstan {
namespace {

using Jobs = std::map<std::string, std::map<int, std::string>>;

struct ServerHandle {
  std::shared_ptr<Server> server;
  bool forked = false;  // this process is a child; the server's threads stayed in the parent
  // Its threads may be waiting for the interpreter; those of another process cannot be waited for.
  ~ServerHandle() {
    if (forked) new std::shared_ptr<Server>(server);
    GilRelease release;
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
  options.on_notice = print_notice;
  apply_settings(settings_from_environment(), options);
  new (self) ServerHandle();
  GilRelease release;
  self->server = Server::start(standard_catalog(), std::move(options));
  conduct_for_clients(*self->server);
}

// Whose task 0 initialises the model, by custom; empty where there is none.
std::string chief_job(ServerHandle& self) {
  for (const char* job : {"chief", "master", "worker"}) {
    if (self.server->options().cluster.has(job, 0)) return job;
  }
  return "";
}

// Waits in poll, which a signal interrupts: Ctrl-C ends a parameter server at once, and an idle one
// never wakes up.
void wait_readable(int fd) {
  pollfd ready{fd, POLLIN, 0};
  for (;;) {
    int count = 0;
    {
      GilRelease release;
      count = poll(&ready, 1, -1);
    }
    if (count > 0) return;
    if (PyErr_CheckSignals()) throw nb::python_error();
  }
}

void join(ServerHandle& self, bool trained) {
  int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0) throw internal_error("cannot wait for the cluster's end: {}", std::strerror(errno));
  std::thread waiter([server = self.server, fd, trained] {
    server->join(trained);
    eventfd_write(fd, 1);
  });
  auto finish = [&] {
    GilRelease release;
    waiter.join();
    close(fd);
  };
  try {
    wait_readable(fd);
  } catch (nb::python_error&) {
    self.server->stop();
    finish();
    throw;
  }
  finish();
}

// Only a process that ends with code 0 has left in good order, and that code is known after the
// interpreter has gone: hence C's on_exit. To be called as late as can be, since what is set up
// after it (the library that signs the handshake, say) is gone when it runs.
void leave_at_exit(ServerHandle& self) {
  auto farewell = [](int code, void* arg) {
    std::unique_ptr<std::shared_ptr<Server>> server(static_cast<std::shared_ptr<Server>*>(arg));
    if ((code & 0xff) == 0) (*server)->leave();
    // Others may say something to this one yet, and what its thread needs to hear is gone soon.
    (*server)->stop();
  };
  on_exit(farewell, new std::shared_ptr<Server>(self.server));
}

}  // namespace

std::shared_ptr<Server> server_of(nb::handle server) {
  return server.is_none() ? nullptr : nb::cast<ServerHandle&>(server).server;
}

void bind_cluster(nb::module_& m) {
  nb::class_<ServerHandle>(m, "ServerBase", nb::is_weak_referenceable())
      .def("__init__", &start)
      .def_prop_ro("target", [](ServerHandle& self) { return self.server->target(); })
      .def("_join", &join)
      .def_prop_ro("_chief_job", &chief_job)
      .def("_has_left", [](ServerHandle& self, const std::string& job,
                           int task) { return self.server->has_left(job, task); })
      .def("_leave",
           [](ServerHandle& self) {
             GilRelease release;
             self.server->leave();
           })
      .def("_leave_at_exit", &leave_at_exit)
      .def("_mark_forked", [](ServerHandle& self) { self.forked = true; })
      .def("_stop", [](ServerHandle& self) {
        GilRelease release;
        self.server->stop();
      });
}

}  // namespace capstan
