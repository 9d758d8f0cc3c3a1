#pragma once

// A free port of this machine that stays ours: a socket is bound to it for as long as the job
// lasts, and another one listens and is handed to the task that serves there. When that task dies
// its peers see it, and the one that comes in its place listens at the same address.

#include <cstdint>

#include "base/fd.h"

namespace capstan::jobs {

struct HeldPort {
  Fd bound;     // never listens
  Fd listener;  // close-on-exec; a task inherits it
  uint16_t port = 0;

  // A listener for the next task. Throws ResourceExhausted with the system's reason.
  void listen();
};

// Listens on 127.0.0.1. Throws ResourceExhausted with the system's reason.
HeldPort hold_free_port();

}  // namespace capstan::jobs
