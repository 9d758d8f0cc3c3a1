#pragma once

// Files with TFJobs: read, checked, and what is wrong with them said with its place.

#include <memory>
#include <string>
#include <vector>

#include "jobs/k8s/tf_job.h"
#include "jobs/k8s/yaml.h"

namespace capstan::cli {

struct JobFile {
  std::string name;  // as it was given
  std::string text;
};

// One job of a file, right or wrong.
struct JobInFile {
  std::shared_ptr<const JobFile> file;
  jobs::k8s::Document document;
  jobs::k8s::TfJob job;
  std::vector<jobs::k8s::FieldError> errors;

  // "tfjob.yaml:7:3: message", with the line and a caret.
  std::string placed(const std::string& path, const std::string& message) const;
  std::string placed(const jobs::k8s::FieldError& error) const;
  std::string placed(const jobs::k8s::JobWarning& warning) const;
};

struct JobsInFiles {
  std::vector<JobInFile> jobs;
  std::vector<std::string> notes;  // other kinds of objects, which are passed over
};

// Lists are taken apart. Throws for files that cannot be read, are neither YAML nor JSON, or have
// no TFJob in them. "-" is standard input.
JobsInFiles read_job_files(const std::vector<std::string>& names);

// Prints all errors to standard error; returns whether there are any.
bool say_errors(const JobInFile& job);
void say_warnings(const JobInFile& job);

}  // namespace capstan::cli
