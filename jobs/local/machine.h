#pragma once

// What this machine has to offer.

#include <cstdint>
#include <string>

namespace capstan::jobs {

// Bytes of a line "MemAvailable:  123 kB" in /proc/meminfo; 0 if it is not there.
int64_t meminfo(const std::string& field);

// Cores that this process may use.
int usable_cores();

}  // namespace capstan::jobs
