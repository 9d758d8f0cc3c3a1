#pragma once

// What the command line asked for. cli.cc fills these; the commands take them as plain data.

#include <string>
#include <vector>

#include "jobs/job_spec.h"

namespace capstan::cli {

struct PythonOptions {
  std::string python;                // --python, or empty
  std::vector<std::string> resolve;  // name[:port]=address[:port]
  std::vector<std::string> args;     // script and its arguments, or -c / -m …
};

struct RunOptions {
  jobs::JobSpec job;
  std::string python;
  std::string log_dir;
  bool json = false;
};

struct ServerOptions {
  std::string cluster;  // JSON: {"ps": ["host:port"], "worker": [...]}
  std::string job;
  int task = 0;
};

struct DoctorOptions {
  std::string python;
  bool json = false;
};

int run_python(const PythonOptions& options);
int run_job(const RunOptions& options);
int run_server(const ServerOptions& options);
int run_doctor(const DoctorOptions& options);

}  // namespace capstan::cli
