#include "main/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/task_channel.h"
#include "base/version.h"
#include "jobs/report.h"

namespace capstan::cli {
namespace {

const char* word_for(Health health) {
  switch (health) {
    case Health::kGood: return "ok";
    case Health::kWarning: return "warning";
    case Health::kBad: return "bad";
  }
  return "bad";
}

int colour_for(Health health) {
  return health == Health::kGood ? 32 : health == Health::kWarning ? 33 : 31;
}

void print(const Check& check, bool json, bool colour) {
  const char* word = word_for(check.health);
  if (json) {
    fmt::print("{{\"check\":{},\"health\":{},\"text\":{}}}\n", json_quote(check.name),
               json_quote(word), json_quote(check.text));
  } else if (colour) {
    fmt::print("\x1b[{}m{:<8}\x1b[0m {:<14} {}\n", colour_for(check.health), word, check.name,
               check.text);
  } else {
    fmt::print("{:<8} {:<14} {}\n", word, check.name, check.text);
  }
}

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

}  // namespace

std::vector<Check> all_checks(const DoctorOptions& options) {
  return {check_versions(),
          check_processor(),
          check_memory(),
          check_ports(),
          check_files_limit(),
          check_processes_limit(),
          check_shared_memory(),
          check_clock(),
          check_disk("disk here", "."),
          check_disk("disk temp", temporary_folder()),
          check_settings(),
          check_python(options.python)};
}

int run_doctor(const DoctorOptions& options) {
  bool colour = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  int bad = 0;
  for (const Check& check : all_checks(options)) {
    print(check, options.json, colour);
    bad += check.health == Health::kBad;
  }
  return bad == 0 ? 0 : jobs::kExitFailure;
}

}  // namespace capstan::cli
