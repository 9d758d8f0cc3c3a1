#pragma once

// Descriptors over which the processes of a job hear of each other.

#include <initializer_list>

#include "base/fd.h"

namespace capstan::jobs {

// Both ends of a pair that carries packets, close-on-exec: a packet is never cut. Throws
// ResourceExhausted.
Fd packet_pair(Fd& other);

// From here on these signals are read, not delivered, and nobody dies of a broken pipe. Throws
// ResourceExhausted.
Fd signals_as_fd(std::initializer_list<int> signals);

}  // namespace capstan::jobs
