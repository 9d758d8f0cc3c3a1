#pragma once

// What the process that holds a detached job tells the one that started it, once: that all tasks
// have begun, or why they have not. Silence means that it died.

#include "base/error.h"
#include "base/fd.h"

namespace capstan::jobs {

// Both close `line`; nothing happens when it is closed already.
void tell_started(Fd& line);
void tell_failure(Fd& line, const Error& error);

// Waits for the news. Throws what was told, or Internal if nothing was.
void wait_for_start(int line);

}  // namespace capstan::jobs
