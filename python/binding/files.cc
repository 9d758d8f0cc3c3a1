// Checkpoints, event files and record files, for Python.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "convert.h"
#include "device_setter.h"
#include "io/bundle.h"
#include "io/checkpoint_folder.h"
#include "io/event_writer.h"
#include "io/record.h"
#include "train/saver.h"

namespace capstan {
namespace {

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// (newest, all, their times, time of the last that is kept for good), or None; whether a state file
// names them; the warning, or "".
nb::tuple checkpoint_folder(const std::string& dir, const std::string& filename) {
  CheckpointFolder folder = look_into_checkpoint_folder(posix_files(), dir, filename);
  nb::object state = nb::none();
  if (folder.state) {
    state = nb::make_tuple(
        folder.state->model_checkpoint_path, folder.state->all_model_checkpoint_paths,
        folder.state->all_model_checkpoint_timestamps, folder.state->last_preserved_timestamp);
  }
  return nb::make_tuple(state, folder.recorded, folder.warning);
}

void set_checkpoint_state(const std::string& dir, const std::string& newest,
                          std::vector<std::string> all, std::vector<double> times, double preserved,
                          bool relative, const std::string& filename) {
  CheckpointStateInfo info{newest, std::move(all), std::move(times), preserved};
  write_checkpoint_state(posix_files(), dir, std::move(info), relative, filename);
}

nb::list kept_checkpoints(const Retention& retention) {
  nb::list list;
  for (const KeptCheckpoint& kept : retention.kept())
    list.append(nb::make_tuple(kept.prefix, kept.written));
  return list;
}

void take_over(Retention& retention, const std::vector<std::pair<std::string, double>>& given) {
  std::deque<KeptCheckpoint> kept;
  for (const auto& [prefix, written] : given) kept.push_back({prefix, written});
  retention.take_over(std::move(kept));
}

void bind_retention(nb::module_& m) {
  nb::class_<Retention>(m, "Retention")
      .def("__init__",
           [](Retention* self, int max_to_keep, double every_n_hours, double now) {
             new (self) Retention({max_to_keep, every_n_hours}, now);
           })
      .def("written",
           [](Retention& self, const std::string& prefix, double now, bool relative,
              const std::string& filename) {
             return self.written(posix_files(), prefix, now, relative, filename);
           })
      .def("kept", &kept_checkpoints)
      .def("take_over", &take_over);
}

nb::tuple describe(const BundleReader& reader, const std::string& key) {
  auto [dtype, shape] = reader.describe(key);
  return nb::make_tuple(int(dtype), shape_to_python(shape));
}

void bind_checkpoints(nb::module_& m) {
  bind_retention(m);
  m.def("checkpoint_folder", &checkpoint_folder);
  m.def("set_checkpoint_state", &set_checkpoint_state);
  m.def("bundle_exists",
        [](const std::string& prefix) { return bundle_exists(posix_files(), prefix); });
  m.def("remove_bundle", [](const std::string& prefix) { remove_bundle(posix_files(), prefix); });
  nb::class_<BundleReader>(m, "BundleReader")
      .def("__init__",
           [](BundleReader* self, const std::string& prefix) {
             new (self) BundleReader(posix_files(), prefix);
           })
      .def("keys", &BundleReader::keys)
      .def("has", [](const BundleReader& self, const std::string& key) { return self.has(key); })
      .def("describe", &describe)
      .def("read", [](const BundleReader& self, const std::string& key) {
        return Numpy().value(self.read(key));
      });
}

void bind_events(nb::module_& m) {
  nb::class_<EventWriter>(m, "EventWriter")
      .def("__init__",
           [](EventWriter* self, const std::string& dir, const std::string& suffix, int queue,
              double seconds) {
             EventWriterOptions options;
             options.flush_events = queue;
             options.flush_seconds = seconds;
             new (self) EventWriter(posix_files(), dir, suffix, options);
           })
      .def("add_event",
           [](EventWriter& self, nb::bytes event) { self.add_serialized(view(event)); })
      .def("add_summary", [](EventWriter& self, nb::bytes summary,
                             int64_t step) { self.add_summary(view(summary), step); })
      .def("add_graph", [](EventWriter& self, nb::bytes graph) { self.add_graph(view(graph)); })
      .def("flush", &EventWriter::flush)
      .def("close", &EventWriter::close)
      .def_prop_ro("path", &EventWriter::path);
}

nb::object next_record(RecordReader& self) {
  std::optional<std::string> record = self.next();
  if (!record) return nb::none();
  return nb::bytes(record->data(), record->size());
}

void bind_records(nb::module_& m) {
  nb::class_<RecordWriter>(m, "RecordWriter")
      .def("__init__",
           [](RecordWriter* self, const std::string& path) {
             new (self) RecordWriter(posix_files(), path);
           })
      .def("write", [](RecordWriter& self, nb::bytes record) { self.write(view(record)); })
      .def("flush", &RecordWriter::flush)
      .def("close", &RecordWriter::close);
  nb::class_<RecordReader>(m, "RecordReader")
      .def("__init__",
           [](RecordReader* self, const std::string& path) {
             new (self) RecordReader(posix_files(), path);
           })
      .def("next", &next_record);
}

}  // namespace

void bind_files(nb::module_& m) {
  bind_checkpoints(m);
  bind_events(m);
  bind_records(m);
}

}  // namespace capstan
