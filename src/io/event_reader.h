#pragma once

// Reads event files back: what tf.train.summary_iterator offers.

#include <optional>
#include <string>

#include "io/record.h"
#include "proto/event.pb.h"

namespace capstan {

// Damage throws DataLoss that names the file and the place.
class EventReader {
 public:
  EventReader(Files& files, const std::string& path) : EventReader(files.open(path), path) {}
  EventReader(std::unique_ptr<ReadableFile> file, std::string name)
      : name_(name), records_(std::move(file), std::move(name)) {}

  std::optional<pb::Event> next();

 private:
  std::string name_;
  RecordReader records_;
};

}  // namespace capstan
