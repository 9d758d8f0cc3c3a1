#include "jobs/local/lost_job.h"

#include <signal.h>

#include <ctime>

#include "base/settings.h"
#include "jobs/local/process.h"

namespace capstan::jobs {

void bury_lost_job(JobShelf& shelf, JobRecord record) {
  kill_processes_with(job_mark(record.id));
  record.state.ended = record.state.started + double(std::time(nullptr) - record.created);
  for (TaskReport& task : record.state.tasks) {
    if (!task.done()) task.state = TaskState::kStopped;
  }
  record.exit_code = kExitSignalBase + SIGKILL;
  record.reason = "whoever looked after the job was killed";
  shelf.write(record);
}

void remove_with_logs(JobShelf& shelf, const JobRecord& record) {
  const std::string ours = state_dir_from_environment() + "/";
  if (record.log_dir.starts_with(ours)) posix_files().remove_all(record.log_dir);
  shelf.remove(record.id);
}

}  // namespace capstan::jobs
