#pragma once

// Ids and secrets.

#include <cstddef>
#include <string>

namespace capstan::jobs {

// Of a job's public id: enough that no two jobs of a machine share one, few enough to type.
constexpr size_t kJobIdBytes = 6;

// Two digits for each random byte of the system's. Throws Internal.
std::string random_hex(size_t bytes);

}  // namespace capstan::jobs
