#pragma once

// Which failure is the cause, and which is worth another try: docs/decisions/0003, 0017.

#include <string>

#include "jobs/platform.h"
#include "jobs/report.h"

namespace capstan::jobs {

// When the task failed, as it told us itself, else when it ended. A failure that only tells of
// another's loss counts later: the kernel closes the sockets of a dying task before its end is
// seen.
double failure_time(const TaskStatus& status);

// A signal, a lost peer, a lack of room to start: trying again may help. One that was ended for its
// memory is none: it would want as much again.
bool is_passing(const TaskStatus& status);

// What a platform puts into told.error of a task that it ended, or saw ended, for having `had` more
// bytes than its limit; 0: not known.
TaskError over_memory(const TaskSpec& spec, int64_t had, double time);

// "SIGKILL", "exit code 1: lost ps/0"; one line, of bounded length.
std::string why_text(const TaskReport& task);

// Seconds before the next attempt: doubled with each that did not live for long.
double back_off(const TaskReport& task);

}  // namespace capstan::jobs
