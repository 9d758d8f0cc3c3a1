#pragma once

// Amounts of memory as people write them for --memory.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace capstan::jobs {

// How much memory a task may have. An empty job means every task that no other rule names.
struct MemoryRule {
  std::string job;
  int64_t bytes = 0;
};

// "2G"; "ps=4G,worker=512M". Throws InvalidArgument that names the part and says what was expected.
std::vector<MemoryRule> parse_memory_rules(std::string_view text);

// "2 GiB", "2.3 GiB", "512 B".
std::string binary_bytes(int64_t bytes);

}  // namespace capstan::jobs
