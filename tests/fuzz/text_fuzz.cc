// Short texts from programs and the environment. Input: one byte that says what (0 a device, 1 a
// rule of --resolve, 2 the values of all settings, one per line), then the text.

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/settings.h"
#include "fuzz/fuzz.h"
#include "graph/device.h"

namespace capstan {
namespace {

void read_device(std::string_view text) {
  std::string canonical = Device::parse(text).text();
  if (Device::parse(canonical).text() != canonical) __builtin_trap();
}

void read_rule(std::string_view text) {
  ResolveRule rule = parse_resolve_rule(text);
  if (parse_resolve_rule(to_string(rule)) != rule) __builtin_trap();
}

void read_settings(std::string_view text) {
  std::map<std::string, std::string, std::less<>> values;
  for (std::string_view name : setting_names()) {
    values[std::string(name)] = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  }
  parse_settings([&](const char* name) -> std::optional<std::string> {
    auto it = values.find(name);
    if (it == values.end() || it->second.empty()) return std::nullopt;
    return it->second;
  }).resolve_address("host:2222");
}

void run(std::string_view input) {
  std::string_view text = input.substr(1);
  if (input[0] == 0) return read_device(text);
  if (input[0] == 1) return read_rule(text);
  read_settings(text);
}

// Each setting alone with a value that is right for some of them.
std::vector<std::string> settings_seeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < setting_names().size(); ++i) {
    for (const char* value : {"3", "tcp", "a:1=b:2,c=d", "{\"a\": \"b\"}"})
      seeds.push_back('\2' + std::string(i, '\n') + value);
  }
  return seeds;
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  using std::string_literals::operator""s;
  std::vector<std::string> seeds = settings_seeds();
  seeds.insert(seeds.end(),
               {"\0/job:ps/replica:0/task:1/device:CPU:0"s, "\0job:ps/task:0"s, "\0/gpu:0"s,
                "\0/device:GPU:*"s, "\1pc-01:2222=127.0.0.1:80"s, "\1a=[::1]:2"s});
  return seeds;
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    capstan::run({reinterpret_cast<const char*>(data), size});
  } catch (const capstan::Error&) {  // refusing is right; crashing is not
  }
  return 0;
}
