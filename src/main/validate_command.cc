#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "jobs/k8s/crd.h"
#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/yaml_text.h"
#include "jobs/report.h"
#include "main/job_file.h"
#include "main/options.h"

namespace capstan::cli {
namespace {

namespace k8s = jobs::k8s;
using nlohmann::json;

constexpr int kShownOfAType = 10;

std::string indented(const std::string& text) {
  std::string out = "  ";
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) out += "  ";
  }
  return out;
}

void show_tf_config(const k8s::TfJob& job, const std::string& domain) {
  fmt::print("TF_CONFIG of each replica:\n");
  for (const k8s::ReplicaSpec& replica : job.replicas) {
    for (int i = 0; i < replica.replicas && i < kShownOfAType; ++i) {
      fmt::print("  {}\n    {}\n", k8s::replica_name(job, replica.type, i),
                 k8s::tf_config(job, replica.type, i, domain));
    }
    if (replica.replicas > kShownOfAType) {
      fmt::print("  … and {} more\n", replica.replicas - kShownOfAType);
    }
  }
}

void show(const JobInFile& job, const ValidateOptions& options) {
  fmt::print("{}: TFJob {} is valid\n", job.file->name, printable(job.job.name));
  if (options.quiet) return;
  fmt::print("With its defaults:\n{}",
             printable(indented(k8s::yaml_text(k8s::with_defaults(job.job)))));
  show_tf_config(job.job, options.cluster_domain);
}

json error_json(const JobInFile& job, const k8s::FieldError& error) {
  const k8s::TextPlace place = k8s::place_of(job.document.places, error.path);
  return {{"path", error.path},
          {"kind", error.kind},
          {"message", error.message},
          {"line", place.line},
          {"column", place.column}};
}

json warning_json(const JobInFile& job, const k8s::JobWarning& warning) {
  const k8s::TextPlace place = k8s::place_of(job.document.places, warning.path);
  return {{"path", warning.path},
          {"reason", warning.reason},
          {"message", warning.message},
          {"line", place.line},
          {"column", place.column}};
}

json job_json(const JobInFile& job, const ValidateOptions& options) {
  json out = {{"file", job.file->name},
              {"name", job.job.name},
              {"valid", job.errors.empty()},
              {"errors", json::array()},
              {"warnings", json::array()}};
  for (const k8s::FieldError& error : job.errors) out["errors"].push_back(error_json(job, error));
  if (!job.errors.empty()) return out;
  for (const k8s::JobWarning& warning : k8s::warnings_of(job.job)) {
    out["warnings"].push_back(warning_json(job, warning));
  }
  out["defaults"] = k8s::with_defaults(job.job);
  for (const k8s::ReplicaSpec& replica : job.job.replicas) {
    for (int i = 0; i < replica.replicas; ++i) {
      out["tfConfig"][k8s::replica_name(job.job, replica.type, i)] =
          k8s::tf_config(job.job, replica.type, i, options.cluster_domain);
    }
  }
  return out;
}

void print_json(const json& value) {
  fmt::print("{}\n", value.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

int validate_files(const ValidateOptions& options) {
  if (options.print_crd) return fmt::print("{}", k8s::crd_text()), 0;
  const JobsInFiles all = read_job_files(options.files);
  for (const std::string& note : all.notes) fmt::print(stderr, "{}\n", note);
  int code = 0;
  for (const JobInFile& job : all.jobs) {
    if (!job.errors.empty()) code = jobs::kExitUsage;
    if (options.json) {
      print_json(job_json(job, options));
    } else if (!say_errors(job)) {
      show(job, options);
      std::fflush(stdout);
      say_warnings(job);
    }
  }
  return code;
}

}  // namespace capstan::cli
