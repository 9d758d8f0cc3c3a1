#pragma once

// What became of a DTF training: a row per task, and the error of one that failed.

#include "base/error.h"
#include "jobs/report.h"
#include "jobs/script/dtf_tasks.h"
#include "jobs/script/table.h"

namespace capstan::script {

// host, port, jobName, taskIndex, isPs, done, success; workers first, then servers.
Rows result_rows(const std::vector<jobs::TaskReport>& tasks);
// The same for a job that did not begin.
Rows result_rows(const DtfPlan& plan);

// Of a report that tells of no success: the first failing task with its own words.
Error failure_of(const jobs::JobReport& report);

}  // namespace capstan::script
