#pragma once

// What `capstan doctor` looks at, one check each; every check says what it found and, where it is
// not well, what to do.

#include <string>
#include <vector>

#include "main/options.h"

namespace capstan::cli {

enum class Health { kGood, kWarning, kBad };

struct Check {
  std::string name;
  Health health = Health::kGood;
  std::string text;
};

std::vector<Check> all_checks(const DoctorOptions& options);

Check check_versions();
Check check_processor();
Check check_memory();
Check check_ports();
Check check_files_limit();
Check check_processes_limit();
Check check_shared_memory();
Check check_clock();
Check check_disk(const std::string& name, const std::string& folder);
Check check_settings();
Check check_python(const std::string& asked);

}  // namespace capstan::cli
