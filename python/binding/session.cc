// Sessions as Python sees them. A run releases the interpreter; while it waits it looks for
// signals.

#include "session/session.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>

#include "base/log.h"
#include "base/settings.h"
#include "base/thread_pool.h"
#include "cluster.h"
#include "gil.h"
#include "handles.h"
#include "run.h"

namespace capstan {
namespace {

// The Python exception that a signal handler raised during a wait. The engine only sees that the
// run was cancelled; the exception itself is raised when the run has ended.
struct Interrupt {
  nb::object exception;
  // Threads whose runs end at their next wait: queue runners that are told to stop.
  std::set<unsigned long> cancelled_threads;

  void check() {
    GilAcquire gil;
    if (!gil) return;  // the process ends: there is nobody to tell
    if (cancelled_threads.contains(PyThread_get_thread_ident()))
      throw cancelled("the thread was told to stop");
    if (PyErr_CheckSignals() == 0) return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    exception = nb::steal(value);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    throw cancelled("the run was interrupted");
  }

  void raise_pending() {
    if (!exception.is_valid()) return;
    nb::object pending = std::move(exception);
    PyErr_SetObject((PyObject*)Py_TYPE(pending.ptr()), pending.ptr());
    throw nb::python_error();
  }
};

struct SessionHandle {
  Ref graph;
  Numpy numpy;
  std::shared_ptr<Interrupt> interrupt = std::make_shared<Interrupt>();
  std::unique_ptr<Session> session;
  int64_t timeout_ms = 0;  // of a run that says nothing of its own; 0: none
  bool forked = false;     // this process is a child; the session's threads stayed in the parent

  // Threads of the session may be waiting for the interpreter. Those of another process cannot be
  // waited for: the child leaves the session as it is.
  ~SessionHandle() {
    if (forked) static_cast<void>(session.release());
    GilRelease release;
    session.reset();
  }
};

int traverse_session(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<SessionHandle>(self)->graph.ptr());
  return 0;
}

// The engine's session points into the graph: it goes first.
int clear_session(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  auto* handle = nb::inst_ptr<SessionHandle>(self);
  std::unique_ptr<Session> session = std::move(handle->session);
  if (handle->forked) static_cast<void>(session.release());
  {
    GilRelease release;
    session.reset();
  }
  Ref graph = std::move(handle->graph);
  return 0;
}

PyType_Slot kSessionSlots[] = {
    {Py_tp_traverse, (void*)traverse_session}, {Py_tp_clear, (void*)clear_session}, {0, nullptr}};

// A session without a server takes its part of the cores, as a task does.
int threads_here(int asked) {
  Settings settings = settings_from_environment();
  if (asked > 0 || settings.threads > 0) return asked > 0 ? asked : settings.threads;
  return kernel_threads(settings.workers_on_host);
}

void start(SessionHandle* self, nb::object graph, const std::string& target, nb::object server,
           std::vector<std::string> device_filters, int threads) {
  new (self) SessionHandle();
  SessionOptions options;
  options.target = target;
  options.server = server_of(server);
  options.client = client_options(settings_from_environment());
  options.device_filters = std::move(device_filters);
  options.threads = threads_here(threads);
  options.on_wait = [interrupt = self->interrupt] { interrupt->check(); };
  options.on_notice = print_notice;
  self->graph = graph;
  Graph& engine_graph = graph_handle(graph).graph;
  GilRelease release;
  self->session = std::make_unique<Session>(engine_graph, std::move(options));
}

Session& open_session(SessionHandle& self) {
  if (self.forked) {
    PyErr_SetString(PyExc_RuntimeError,
                    "This session was made before the process forked: make one in the child.");
    throw nb::python_error();
  }
  if (!self.session || self.session->closed()) {
    PyErr_SetString(PyExc_RuntimeError, "Attempted to use a closed Session.");
    throw nb::python_error();
  }
  if (self.session->graph().size() == 0) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "The Session graph is empty. Add operations to the graph before calling run().");
    throw nb::python_error();
  }
  return *self.session;
}

// What the run itself says counts, else what the session's ConfigProto said.
RunOptions run_options(const SessionHandle& self, nb::handle options) {
  RunOptions made;
  if (!options.is_none()) made.timeout_ms = nb::cast<int64_t>(options.attr("timeout_in_ms"));
  if (made.timeout_ms == 0) made.timeout_ms = self.timeout_ms;
  return made;
}

// The node of the program that failed. What a plan adds ("w/_read_0") counts as what it is for.
Node* failed_node(Graph& graph, const std::string& op) {
  if (op.empty()) return nullptr;
  Node* node = graph.find(op);
  size_t added = op.rfind("/_");
  return node || added == op.npos ? node : graph.find(op.substr(0, added));
}

// The error as Python's, with the line of the program that made the failing node.
[[noreturn]] void raise_run_error(SessionHandle& self, const Error& error) {
  self.interrupt->raise_pending();
  Node* node = failed_node(graph_handle(self.graph).graph, error.op());
  nb::object op = node ? operation_object(self.graph, *node) : nb::object(nb::none());
  nb::object make = nb::module_::import_("capstan.core.errors").attr("from_run");
  nb::object exception =
      make(int(error.code()), error.message(), node ? node->name() : error.op(), error.task(), op);
  PyErr_SetObject((PyObject*)Py_TYPE(exception.ptr()), exception.ptr());
  throw nb::python_error();
}

// A new plan is shipped to other tasks, which may take long; but a graph that can still grow is
// read only by whoever holds the interpreter.
std::shared_ptr<Executable> prepare(Session& session, const Feeds& feeds, const Fetches& fetches) {
  std::optional<GilRelease> release;
  if (session.graph().finalized()) release.emplace();
  return session.prepare(feeds.outputs, fetches.outputs(), fetches.targets());
}

nb::object run(SessionHandle& self, nb::handle fetches, nb::handle feed_dict, nb::handle options,
               nb::handle) {
  Session& session = open_session(self);
  Fetches flat(self.graph, fetches);
  Feeds feeds = convert_feeds(self.graph, feed_dict, self.numpy);
  RunOptions engine_options = run_options(self, options);
  try {
    std::shared_ptr<Executable> executable = prepare(session, feeds, flat);
    RunResult result;
    {
      GilRelease release;
      result = session.run(*executable, feeds.values, engine_options);
    }
    return flat.build(result.values, self.numpy);
  } catch (const Error& error) {
    raise_run_error(self, error);
  }
}

void close(SessionHandle& self) {
  if (!self.session || self.forked) return;
  GilRelease release;
  self.session->close();
}

void reset(const std::string& target, nb::object server, std::vector<std::string> containers) {
  SessionOptions options;
  options.target = target;
  options.server = server_of(server);
  options.client = client_options(settings_from_environment());
  GilRelease release;
  Session::reset(options, containers);
}

}  // namespace

void bind_session(nb::module_& m) {
  nb::class_<SessionHandle>(m, "SessionBase", nb::type_slots(kSessionSlots),
                            nb::is_weak_referenceable())
      .def("__init__", &start, nb::arg("graph"), nb::arg("target"), nb::arg("server").none(),
           nb::arg("device_filters"), nb::arg("threads"))
      .def("run", &run, nb::arg("fetches").none(), nb::arg("feed_dict") = nb::none(),
           nb::arg("options") = nb::none(), nb::arg("run_metadata") = nb::none())
      .def("close", &close)
      .def("_set_timeout", [](SessionHandle& self, int64_t ms) { self.timeout_ms = ms; })
      .def("_mark_forked", [](SessionHandle& self) { self.forked = true; })
      .def("_cancel_runs_of",
           [](SessionHandle& self, unsigned long thread) {
             self.interrupt->cancelled_threads.insert(thread);
           })
      .def("_allow_runs_of",
           [](SessionHandle& self, unsigned long thread) {
             self.interrupt->cancelled_threads.erase(thread);
           })
      .def_prop_ro("_closed",
                   [](SessionHandle& self) { return !self.session || self.session->closed(); })
      .def_prop_ro("graph", [](SessionHandle& self) { return self.graph; });
  m.def("reset_containers", &reset, nb::arg(), nb::arg().none(), nb::arg());
}

}  // namespace capstan
