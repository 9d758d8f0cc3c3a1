#pragma once

// A free port of this machine that stays ours: the socket already listens, and is handed to the
// task that will serve on it, so nobody can take the port in between.

#include <cstdint>

#include "base/fd.h"

namespace capstan::jobs {

struct HeldPort {
  Fd socket;  // close-on-exec; the launcher lets its task inherit it
  uint16_t port = 0;
};

// Listens on 127.0.0.1. Throws ResourceExhausted with the system's reason.
HeldPort hold_free_port();

}  // namespace capstan::jobs
