#pragma once

// The secret of a job in a file that only its user reads, for tasks that no descriptor reaches.
// They are told its path (CAPSTAN_SECRET_FILE); src/cluster/secret.h reads it.

#include <string>

namespace capstan::jobs {

// Where it lies, among the temporary files of this machine.
std::string secret_file_path(const std::string& job_id);
// Returns the path. Throws ResourceExhausted, also if there is such a file already: it would be
// somebody else's.
std::string make_secret_file(const std::string& job_id, const std::string& secret);
// Nothing happens when there is none.
void remove_secret_file(const std::string& job_id);

}  // namespace capstan::jobs
