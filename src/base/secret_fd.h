#pragma once

// How a launcher hands its tasks the job's secret: in sealed memory behind an inherited descriptor
// (CAPSTAN_SECRET_FD). Environments and arguments are for all to read, and end up in logs.

#include <string>

#include "base/fd.h"

namespace capstan {

// Close-on-exec, for the launcher to let its tasks inherit. Throws ResourceExhausted.
Fd secret_as_fd(const std::string& secret);

// What such a descriptor holds; empty if it is not one. A grandchild inherits the variable, often
// without the descriptor, hence the check. From here on it is close-on-exec.
std::string secret_of_fd(int fd);

}  // namespace capstan
