#pragma once

// The children of this process: those that it started, each waited for by whoever did, and orphans
// of theirs that came to us (prctl, or as the first process of a container) and that nobody else
// will ever wait for.

#include <sys/resource.h>

namespace capstan::jobs {

// As fork(): the child is waited for by wait_for_child(), and by nobody else.
int fork_child();
// Returns the status once the child has ended.
int wait_for_child(int pid, rusage* usage = nullptr);

// Lets go of orphans that have ended.
void reap_orphans();

}  // namespace capstan::jobs
