#include "graph/device.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "base/error.h"

namespace capstan {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + 1)) {
    parts.push_back(text.substr(0, end));
  }
  parts.push_back(text);
  return parts;
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](uint8_t c) { return std::toupper(c); });
  return out;
}

bool is_type(const std::string& type) {
  return type == "CPU" || type == "GPU" || type == "TPU" || type == "CUSTOM";
}

int number(std::string_view text, std::string_view part, std::string_view whole) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    throw invalid_argument("'{}' in the device '{}' needs a number, not '{}'", part, whole, text);
  }
  return value;
}

void set_type(Device& device, std::string_view type, std::string_view index, std::string_view part,
              std::string_view whole) {
  if (device.type) throw invalid_argument("the device '{}' names more than one type", whole);
  std::string in_capitals = upper(type);
  device.type = is_type(in_capitals) ? in_capitals : std::string(type);
  if (index != "*") device.index = number(index, part, whole);
}

void read_part(Device& device, std::string_view part, std::string_view whole) {
  std::vector<std::string_view> words = split(part, ':');
  std::string_view key = words[0];
  if (words.size() == 2 && key == "job") {
    device.job = words[1];
  } else if (words.size() == 2 && key == "replica") {
    device.replica = number(words[1], part, whole);
  } else if (words.size() == 2 && key == "task") {
    device.task = number(words[1], part, whole);
  } else if (words.size() <= 2 && is_type(upper(key))) {
    set_type(device, key, words.size() == 2 ? words[1] : "*", part, whole);
  } else if (words.size() == 3 && key == "device") {
    set_type(device, words[1], words[2], part, whole);
  } else {
    throw invalid_argument(
        "cannot read '{}' in the device '{}'; devices look like "
        "'/job:ps/task:0/device:CPU:0'",
        part, whole);
  }
}

}  // namespace

Device Device::parse(std::string_view text) {
  Device device;
  for (std::string_view part : split(text, '/')) {
    // TensorFlow skips parts such as "" and ":3".
    if (!part.empty() && part[0] != ':') read_part(device, part, text);
  }
  return device;
}

std::string Device::text() const {
  std::string out;
  if (job) out += "/job:" + *job;
  if (replica) out += fmt::format("/replica:{}", *replica);
  if (task) out += fmt::format("/task:{}", *task);
  if (type) out += fmt::format("/device:{}:{}", *type, index ? std::to_string(*index) : "*");
  return out;
}

Device Device::merged_with(const Device& over) const {
  Device out = over;
  if (!out.job) out.job = job;
  if (!out.replica) out.replica = replica;
  if (!out.task) out.task = task;
  if (!out.type) out.type = type;
  if (!out.index) out.index = index;
  return out;
}

}  // namespace capstan
