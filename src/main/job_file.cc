#include "main/job_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/printable.h"

namespace capstan::cli {
namespace {

namespace k8s = jobs::k8s;
using nlohmann::json;

// Beyond what read_documents() takes; it says so.
constexpr size_t kMost = 11'000'000;

std::string read_all(std::FILE* in, const std::string& name) {
  std::string text;
  char buffer[1 << 16];
  for (size_t got = 1; got > 0 && text.size() < kMost;) {
    got = std::fread(buffer, 1, sizeof buffer, in);
    text.append(buffer, got);
  }
  if (std::ferror(in)) throw not_found("{}: {}", name, std::strerror(errno));
  return text;
}

std::string read_file(const std::string& name) {
  if (name == "-") return read_all(stdin, "standard input");
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) {
    throw invalid_argument("{} is a folder; give the files in it", name);
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(name.c_str(), "re"), std::fclose);
  if (!in) throw not_found("{}: {}", name, std::strerror(errno));
  return read_all(in.get(), name);
}

std::string text_of(const json& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_string()) return "";
  return object[name].get<std::string>();
}

// What says of itself that it is something else is not ours to check.
bool is_other_kind(const json& object) {
  const std::string kind = text_of(object, "kind");
  return !kind.empty() && kind != "TFJob" &&
         !text_of(object, "apiVersion").starts_with("kubeflow.org/");
}

void add(const std::shared_ptr<const JobFile>& file, k8s::Document document, JobsInFiles& out) {
  const json& object = *document.json;
  if (text_of(object, "kind") == "List" && object.contains("items") && object["items"].is_array()) {
    k8s::Places& items = document.places.fields["items"];
    for (size_t i = 0; i < object["items"].size(); ++i) {
      add(file, {std::make_shared<const json>(object["items"][i]), std::move(items.items.at(i))},
          out);
    }
    return;
  }
  if (is_other_kind(object)) {
    out.notes.push_back(fmt::format("{}:{}: {} is no TFJob, and is passed over", file->name,
                                    document.places.here.line, printable(text_of(object, "kind"))));
    return;
  }
  JobInFile job{.file = file};
  job.job = k8s::read_tf_job(object, /*strict=*/true, job.errors);
  job.document = std::move(document);
  out.jobs.push_back(std::move(job));
}

}  // namespace

std::string JobInFile::placed(const std::string& path, const std::string& message) const {
  return k8s::placed_text(file->text, file->name, k8s::place_of(document.places, path), message);
}

std::string JobInFile::placed(const k8s::FieldError& error) const {
  return placed(error.path, error.text());
}

std::string JobInFile::placed(const k8s::JobWarning& warning) const {
  return placed(warning.path, fmt::format("warning: {}", warning.message));
}

JobsInFiles read_job_files(const std::vector<std::string>& names) {
  JobsInFiles out;
  for (const std::string& name : names) {
    const std::string shown = name == "-" ? "standard input" : name;
    auto file = std::make_shared<const JobFile>(JobFile{shown, read_file(name)});
    for (k8s::Document& document : k8s::read_documents(file->text, shown)) {
      add(file, std::move(document), out);
    }
  }
  if (out.jobs.empty()) {
    throw invalid_argument(
        "{}: there is no TFJob in it; one begins with apiVersion: "
        "kubeflow.org/v1 and kind: TFJob",
        fmt::join(names, ", "));
  }
  return out;
}

bool say_errors(const JobInFile& job) {
  for (const k8s::FieldError& error : job.errors) {
    std::fputs((printable(job.placed(error)) + "\n").c_str(), stderr);
  }
  return !job.errors.empty();
}

void say_warnings(const JobInFile& job) {
  for (const k8s::JobWarning& warning : k8s::warnings_of(job.job)) {
    std::fputs((printable(job.placed(warning)) + "\n").c_str(), stderr);
  }
}

}  // namespace capstan::cli
