#include "io/event_reader.h"

#include "base/error.h"

namespace capstan {

std::optional<pb::Event> EventReader::next() {
  uint64_t offset = records_.offset();
  std::optional<std::string> record = records_.next();
  if (!record) return std::nullopt;
  pb::Event event;
  if (!event.ParseFromString(*record)) {
    throw data_loss("{}: the record at byte {} is no event; is this an event file?", name_, offset);
  }
  return event;
}

}  // namespace capstan
