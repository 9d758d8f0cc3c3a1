// Meta graphs, event files read back, and the channel on which a task tells its launcher how it
// fares.

#include "train.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "base/atomic_file.h"
#include "base/settings.h"
#include "base/task_channel.h"
#include "build.h"
#include "convert.h"
#include "gil.h"
#include "graph/graph_def.h"
#include "graph/graph_text.h"
#include "handles.h"
#include "io/event_reader.h"
#include "proto/meta_graph.pb.h"
#include "train/step_reporter.h"

namespace capstan {
namespace {

nb::bytes bytes_object(std::string_view text) { return nb::bytes(text.data(), text.size()); }
std::string_view view_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

template <class Message>
Message parsed(const nb::bytes& bytes, const char* what) {
  Message message;
  if (!message.ParseFromArray(bytes.c_str(), int(bytes.size())))
    throw data_loss("these bytes are no {}", what);
  return message;
}

// --- Meta graphs ---------------------------------------------------------------------------------

nb::bytes variable_def(nb::handle variable, bool trainable) {
  VariableRef ref = variable_of(variable);
  pb::VariableDef def;
  def.set_variable_name(ref.ref.name());
  def.set_initializer_name(ref.initializer->name());
  def.set_snapshot_name(ref.read.name());
  def.set_initial_value_name(ref.initial_value.name());
  def.set_trainable(trainable);
  return bytes_object(def.SerializeAsString());
}

// (variable, reading, initial value, initializer, trainable): names of elements.
nb::tuple parse_variable_def(nb::bytes bytes) {
  auto def = parsed<pb::VariableDef>(bytes, "VariableDef");
  return nb::make_tuple(def.variable_name(), def.snapshot_name(), def.initial_value_name(),
                        def.initializer_name(), def.trainable());
}

// `items`: str are names of nodes, bytes are messages.
void add_collection(pb::CollectionDef& def, const std::string& kind, nb::handle items) {
  for (nb::handle item : nb::iter(items)) {
    if (kind == "node")
      def.mutable_node_list()->add_value(nb::cast<std::string>(item));
    else if (kind == "bytes")
      def.mutable_bytes_list()->add_value(bytes_from_python(item));
    else if (kind == "int")
      def.mutable_int64_list()->add_value(nb::cast<int64_t>(item));
    else
      def.mutable_float_list()->add_value(nb::cast<float>(item));
  }
}

// `collections`: name to (kind, items).
nb::bytes meta_graph(nb::handle graph, nb::handle saver_def, nb::dict collections,
                     const std::string& version, const std::string& git_version) {
  pb::MetaGraphDef meta;
  meta.mutable_meta_info_def()->set_tensorflow_version(version);
  meta.mutable_meta_info_def()->set_tensorflow_git_version(git_version);
  meta.mutable_graph_def()->ParseFromString(to_graph_def(graph_handle(graph).graph, 0, true));
  if (!saver_def.is_none())
    *meta.mutable_saver_def() = parsed<pb::SaverDef>(nb::borrow<nb::bytes>(saver_def), "SaverDef");
  for (auto [key, value] : collections) {
    pb::CollectionDef& def = (*meta.mutable_collection_def())[nb::cast<std::string>(key)];
    add_collection(def, nb::cast<std::string>(value[0]), value[1]);
  }
  return bytes_object(meta.SerializeAsString());
}

template <class List>
nb::list list_of(const List& values, bool text) {
  nb::list list;
  for (const auto& value : values) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
      list.append(nb::cast(value));
    else if (text)
      list.append(nb::cast(std::string(value)));
    else
      list.append(bytes_object(value));
  }
  return list;
}

nb::object collection_items(const pb::CollectionDef& def) {
  switch (def.kind_case()) {
    case pb::CollectionDef::kNodeList:
      return nb::make_tuple("node", list_of(def.node_list().value(), true));
    case pb::CollectionDef::kBytesList:
      return nb::make_tuple("bytes", list_of(def.bytes_list().value(), false));
    case pb::CollectionDef::kInt64List:
      return nb::make_tuple("int", list_of(def.int64_list().value(), false));
    case pb::CollectionDef::kFloatList:
      return nb::make_tuple("float", list_of(def.float_list().value(), false));
    default: return nb::make_tuple("any", nb::list());
  }
}

// (GraphDef, SaverDef or None, collections as above)
nb::tuple parse_meta_graph(nb::bytes bytes) {
  auto meta = parsed<pb::MetaGraphDef>(bytes, "MetaGraphDef");
  nb::dict collections;
  for (const auto& [name, def] : meta.collection_def())
    collections[name.c_str()] = collection_items(def);
  nb::object saver = nb::none();
  if (meta.has_saver_def()) saver = bytes_object(meta.saver_def().SerializeAsString());
  return nb::make_tuple(bytes_object(meta.graph_def().SerializeAsString()), saver, collections);
}

void bind_meta_graphs(nb::module_& m) {
  m.def("variable_def", &variable_def);
  m.def("parse_variable_def", &parse_variable_def);
  m.def("meta_graph", &meta_graph, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  m.def("parse_meta_graph", &parse_meta_graph);
}

// --- Files ---------------------------------------------------------------------------------------

void write_whole(const std::string& path, nb::bytes bytes) {
  std::string content(view_of(bytes));
  GilRelease release;
  write_atomically(posix_files(), path, content);
}

nb::object next_event(EventReader& self) {
  std::optional<pb::Event> event = self.next();
  if (!event) return nb::none();
  return bytes_object(event->SerializeAsString());
}

void write_graph_text(const std::string& path, nb::bytes graph_def) {
  std::string content(view_of(graph_def));
  GilRelease release;
  write_atomically(posix_files(), path, graph_text(content));
}

void bind_files(nb::module_& m) {
  m.def("write_file", &write_whole);
  m.def("write_graph_text", &write_graph_text);
  nb::class_<EventReader>(m, "EventReader")
      .def("__init__", [](EventReader* self,
                          const std::string& path) { new (self) EventReader(posix_files(), path); })
      .def("next", &next_event);
}

// --- The launcher --------------------------------------------------------------------------------

struct ChannelHandle {
  std::shared_ptr<TaskChannel> channel;
};

// "end" is told by a process that ends with code 0; see leave_at_exit() in cluster.cc.
void end_at_exit(ChannelHandle& self) {
  auto end = [](int code, void* arg) {
    std::unique_ptr<std::shared_ptr<TaskChannel>> channel(
        static_cast<std::shared_ptr<TaskChannel>*>(arg));
    if ((code & 0xff) == 0) (*channel)->end();
  };
  on_exit(end, new std::shared_ptr<TaskChannel>(self.channel));
}

void bind_channel(nb::module_& m) {
  nb::class_<ChannelHandle>(m, "TaskChannel")
      .def("__init__",
           [](ChannelHandle* self) {
             int fd = settings_from_environment().task_fd;
             new (self) ChannelHandle{std::make_shared<TaskChannel>(fd)};
           })
      .def_prop_ro("connected", [](ChannelHandle& self) { return self.channel->connected(); })
      .def(
          "step",
          [](ChannelHandle& self, int64_t step, std::optional<double> loss, int64_t last_step) {
            self.channel->step(step, loss, last_step);
          },
          nb::arg("step"), nb::arg("loss").none(), nb::arg("last_step"))
      .def("port", [](ChannelHandle& self, uint16_t port) { self.channel->port(port); })
      .def("error", [](ChannelHandle& self, const std::string& code,
                       const std::string& message) { self.channel->error(code, message); })
      .def("serves", [](ChannelHandle& self, bool trained) { self.channel->serves(trained); })
      .def("waits", [](ChannelHandle& self, const std::string& whom) { self.channel->waits(whom); })
      .def("end", [](ChannelHandle& self) { self.channel->end(); })
      .def("end_at_exit", &end_at_exit);
}

void bind_reports(nb::module_& m) {
  nb::class_<StepReporter>(m, "StepReporter")
      .def("__init__", [](StepReporter* self, ChannelHandle& channel,
                          int64_t limit) { new (self) StepReporter(channel.channel, limit); })
      .def_prop_ro("limit", &StepReporter::limit)
      .def_prop_ro("due", &StepReporter::due)
      .def_prop_ro("next_time", &StepReporter::next_time)
      .def("reached", &StepReporter::reached)
      .def("ends_at", &StepReporter::ends_at)
      .def("report", &StepReporter::report, nb::arg(), nb::arg().none())
      .def("finish", &StepReporter::finish);
  m.def("is_called_loss", [](const std::string& name) { return is_called_loss(name); });
}

}  // namespace

void bind_train(nb::module_& m) {
  bind_files(m);
  bind_meta_graphs(m);
  bind_channel(m);
  bind_reports(m);
}

}  // namespace capstan
