#pragma once

// Ends that are closed by exec, unless they are handed down. All throw ResourceExhausted.

#include <initializer_list>

#include "base/fd.h"

namespace capstan::jobs {

// Returns the end to read from.
Fd make_pipe(Fd& writing);
// Two equal ends that keep packets apart.
Fd make_packet_pair(Fd& other);
// From here on these signals are read from it, not delivered; nobody is ended by a lost reader.
Fd signals_as_fd(std::initializer_list<int> signals);

}  // namespace capstan::jobs
