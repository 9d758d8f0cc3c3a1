// Lets scripts in other languages drive our readers and writers:
//   format_tool write <prefix>          a bundle of one tensor of each kind, and one in parts
//   format_tool rewrite <from> <to>     reads every tensor of a bundle and writes it to another
//   format_tool merge <out> <prefix>... joins bundles
//   format_tool events <logdir>         an event file with scalars, a histogram and a restart
//   format_tool records <in> <out> [ZLIB|GZIP]   copies a record file record by record

#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "io/bundle.h"
#include "io/event_writer.h"
#include "io/record.h"

namespace capstan {
namespace {

using Args = std::vector<std::string>;

template <class T>
Tensor counted(const Shape& shape) {
  Tensor t(DTypeOf<T>::value, shape);
  for (int64_t i = 0; i < t.size(); ++i) t.data<T>()[i] = static_cast<T>(i);
  return t;
}

void write_bundle(const Args& args) {
  BundleWriter writer(posix_files(), args.at(0));
  writer.add("float", counted<float>({3, 4}));
  writer.add("double", counted<double>({5}));
  writer.add("scope/int32", counted<int32_t>({2, 2, 2}));
  writer.add("int64", Tensor::scalar<int64_t>(int64_t{1} << 40));
  writer.add("uint8", counted<uint8_t>({7}));
  writer.add("bool", Tensor::of<bool>({3}, {true, false, true}));
  writer.add("string",
             Tensor::of<std::string>({2, 2}, {"", "a", std::string(300, 'b'), "\xc3\xa9"}));
  writer.add("empty", Tensor(DType::kFloat, {0, 3}));
  std::vector<int64_t> zero{0, 0}, three{3, 0}, first{3, 4}, second{7, 4};
  writer.add_slice("parts", {10, 4}, zero, first, counted<float>({3, 4}));
  writer.add_slice("parts", {10, 4}, three, second, counted<float>({7, 4}));
  writer.finish();
}

void rewrite_bundle(const Args& args) {
  BundleReader reader(posix_files(), args.at(0));
  BundleWriter writer(posix_files(), args.at(1));
  for (const std::string& key : reader.keys()) writer.add(key, reader.read(key));
  writer.finish();
}

void merge(const Args& args) {
  merge_bundles(posix_files(), std::span(args).subspan(1), args.at(0));
}

pb::Event histogram_event() {
  pb::Event event;
  event.set_step(2);
  pb::Summary::Value* value = event.mutable_summary()->add_value();
  value->set_tag("weights");
  pb::HistogramProto* histo = value->mutable_histo();
  histo->set_min(0);
  histo->set_max(1);
  histo->set_num(3);
  histo->set_sum(1.5);
  histo->set_sum_squares(1.25);
  for (double limit : {0.5, 1.0, 1.1}) histo->add_bucket_limit(limit);
  for (double count : {1, 1, 1}) histo->add_bucket(count);
  return event;
}

void write_events(const Args& args) {
  EventWriter writer(posix_files(), args.at(0));
  writer.add_session_log(pb::SessionLog::START, 0);
  for (int step = 0; step < 20; ++step) writer.add_scalar("loss", float(std::exp(-step)), step);
  writer.add(histogram_event());
  writer.add_session_log(pb::SessionLog::START, 10);
  for (int step = 10; step < 13; ++step) writer.add_scalar("loss", 7, step);
  writer.close();
}

void copy_records(const Args& args) {
  RecordOptions options;
  if (args.size() > 2) {
    options.compression = args[2] == "GZIP" ? Compression::kGzip : Compression::kZlib;
  }
  RecordReader reader(posix_files(), args.at(0), options);
  RecordWriter writer(posix_files(), args.at(1));
  while (auto record = reader.next()) writer.write(*record);
  writer.close();
}

int run(const std::string& command, const Args& args) {
  if (command == "write")
    write_bundle(args);
  else if (command == "rewrite")
    rewrite_bundle(args);
  else if (command == "merge")
    merge(args);
  else if (command == "events")
    write_events(args);
  else if (command == "records")
    copy_records(args);
  else
    return 2;
  return 0;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  try {
    capstan::Args args(argv + std::min(argc, 2), argv + argc);
    return argc < 2 ? 2 : capstan::run(argv[1], args);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "format_tool: %s\n", e.what());
    return 1;
  }
}
