#pragma once

// What each task of a DTF training receives: a folder, files, and parameters on standard input as
// pyjava's PythonProjectContext reads them.

#include <string>
#include <utility>
#include <vector>

#include "jobs/job_spec.h"
#include "jobs/script/dtf_project.h"
#include "jobs/script/engine.h"

namespace capstan::script {

struct DtfPlan {
  int workers = 1, servers = 1, chief = 0;
  Project project;
  KeyValues parameters;       // fitParam.0.…, the user, the group
  std::vector<Shard> shards;  // one per worker
  std::string folder;         // run/<task> and models/<index> are below it
  std::string chief_model;

  std::string run_folder(const jobs::TaskId& task) const;
  // Where a worker may write; not made before.
  std::string model_folder(int worker) const;
};

// roleSpec, clusterSpec, tempDataLocalPath, tempModelLocalPath and plan.parameters.
KeyValues task_parameters(const DtfPlan& plan, const jobs::Cluster& cluster,
                          const jobs::TaskId& task);

// An int32 count (big-endian), then each key and value as an int32 length and its bytes.
std::string framed(const KeyValues& parameters);

// The groups, and what differs from task to task. Makes the folders of the tasks.
void lay_out_tasks(const DtfPlan& plan, jobs::JobSpec& spec);

}  // namespace capstan::script
