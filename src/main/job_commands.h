#pragma once

// What commands do to a job once it is found: of this machine (job_commands.cc), or of a cluster
// (cluster_commands.cc, cluster_logs.cc). Each returns an exit code.

#include <string>

#include "main/options.h"
#include "main/where.h"

namespace capstan::cli {

// Of a terminal; a table in a pipe is for programs: 0, nothing is cut.
size_t table_width();
// Seconds since 1970.
double wall_clock();
// Of what tasks print, on standard output.
bool colours_wanted();

namespace here {
int list(bool json);
int show(const jobs::ShelvedJob& job, bool json);
int logs(const jobs::ShelvedJob& job, const LogsOptions& options);
int wait(const jobs::ShelvedJob& job, const WaitOptions& options);
void ask_to_stop(const jobs::ShelvedJob& job);
void wait_until_stopped(const std::string& id);
void remove(const jobs::ShelvedJob& job);
}  // namespace here

namespace there {
// Of the named ones only, if any are named.
int list(Cluster& cluster, const JobsOptions& options);
int show(const FoundJob& job, const JobsOptions& options);
int logs(const FoundJob& job, const LogsOptions& options);
// Shows what it prints until it has ended; then as wait() does for its end.
int follow(const FoundJob& job, bool quiet);
int wait(const FoundJob& job, const WaitOptions& options);
int scale(const FoundJob& job, const ScaleOptions& options);
int suspend(const FoundJob& job, bool suspended);
// Suspends it, and waits until nothing of it is left but itself.
int stop(const FoundJob& job);
int remove(const FoundJob& job, const DeleteOptions& options);
}  // namespace there

}  // namespace capstan::cli
