#include "jobs/script/dtf_project.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/nearest.h"
#include "jobs/script/session.h"

namespace capstan::script {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestProject = 16 << 20;
constexpr size_t kMostFiles = 2000;

std::vector<std::string> words_of(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) {
    const size_t begin = word.find_first_not_of(" \t\r\n"), end = word.find_last_not_of(" \t\r\n");
    if (begin != word.npos) words.push_back(word.substr(begin, end - begin + 1));
  }
  return words;
}

bool fit_for_a_file(std::string_view name) {
  auto bad = [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '/' || c == '\\'; };
  return !name.empty() && name.size() <= 200 && name[0] != '.' && std::ranges::none_of(name, bad);
}

// Column 0 of row 0, as `load script` leaves it.
std::string text_in(const AlgorithmCall& call, const std::string& table, std::string_view option) {
  const Place& place = call.options.place_of(option);
  if (!fit_for_a_file(table)) {
    throw error_at(place, Code::kInvalidArgument,
                   fmt::format("{}: the table {} cannot be a file's name", option, table));
  }
  try {
    const Rows rows = call.session.engine.rows(table, 1);
    if (!rows.rows.empty() && !rows.rows[0].empty()) {
      if (const auto* text = std::get_if<std::string>(&rows.rows[0][0])) return *text;
    }
  } catch (const Error& error) {
    throw error_at(place, error);
  }
  throw error_at(place, Code::kInvalidArgument,
                 fmt::format("{}: the table {} holds no script; load script.`{}` as {} makes one",
                             option, table, table, table));
}

Project from_tables(const AlgorithmCall& call) {
  Project project;
  const std::vector<std::string> names = words_of(call.options.text("scripts"), ',');
  if (names.empty()) {
    throw error_at(call.options.place_of("scripts"), Code::kInvalidArgument,
                   "scripts: give the tables that hold them, separated by commas");
  }
  for (const std::string& name : names) {
    project.files.push_back({name + ".py", text_in(call, name, "scripts")});
  }
  std::string entry = call.options.text("entryPoint");
  if (entry.empty() && names.size() == 1) entry = names[0];
  if (entry.ends_with(".py")) entry.resize(entry.size() - 3);
  if (std::ranges::find(names, entry) == names.end()) {
    throw error_at(call.options.place_of("entryPoint"), Code::kNotFound,
                   entry.empty() ? fmt::format("entryPoint: which of {}?", fmt::join(names, ", "))
                                 : fmt::format("entryPoint: {} is none of the scripts {}{}", entry,
                                               fmt::join(names, ", "), did_you_mean(entry, names)));
  }
  project.entry = entry + ".py";
  return project;
}

std::vector<jobs::TaskFile> files_below(const std::string& folder, const Place& place) {
  std::vector<jobs::TaskFile> files;
  uint64_t bytes = 0;
  for (fs::recursive_directory_iterator at(folder), end; at != end; ++at) {
    const fs::directory_entry& entry = *at;
    if (entry.path().filename().string().starts_with(".")) {  // .git and the like
      at.disable_recursion_pending();
      continue;
    }
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
    bytes += entry.file_size();
    if (bytes > kLargestProject || files.size() == kMostFiles) {
      throw error_at(place, Code::kInvalidArgument,
                     fmt::format("{}: more than {} files or {} MB; keep data out of the project",
                                 folder, kMostFiles, kLargestProject >> 20));
    }
    files.push_back({fs::relative(entry.path(), folder), posix_files().read(entry.path())});
  }
  return files;
}

// Python and a script of the project; no shell reads it.
void take_command(Project& project, const std::string& command, const std::string& file,
                  const Place& place) {
  std::vector<std::string> words = words_of(command, ' ');
  const bool plain = words.size() >= 2 && (words[0] == "python" || words[0] == "python3") &&
                     words[1].ends_with(".py") &&
                     command.find_first_of("\"'`$|&;<>{}\\") == command.npos;
  if (!plain) {
    throw error_at(
        place, Code::kUnimplemented,
        fmt::format("{}: the command is \"{}\"; only `python SCRIPT.py ARGUMENTS` is run "
                    "here; or give entryPoint",
                    file, command));
  }
  project.entry = words[1];
  project.arguments.assign(words.begin() + 2, words.end());
}

Project from_folder(const AlgorithmCall& call, const std::string& folder, const Place& place) {
  Project project{.files = files_below(folder, place), .entry = {}, .arguments = {}};
  auto file = [&](const std::string& name) {
    return std::ranges::find(project.files, name, &jobs::TaskFile::path);
  };
  project.entry = call.options.text("entryPoint");
  if (!project.entry.empty()) {
    if (!project.entry.ends_with(".py")) project.entry += ".py";
  } else if (auto description = file("MLproject"); description != project.files.end()) {
    take_command(project, mlproject_command(description->bytes), folder + "/MLproject", place);
  } else {
    throw error_at(place, Code::kInvalidArgument,
                   folder + ": which script? give entryPoint, or put an MLproject there");
  }
  if (file(project.entry) == project.files.end()) {
    throw error_at(place, Code::kNotFound,
                   fmt::format("{}: there is no {} in it", folder, project.entry));
  }
  return project;
}

Project from_path(const AlgorithmCall& call, std::string_view option) {
  const Place& place = call.options.place_of(option);
  const std::string path = call.session.paths.file(call.options.text(option), place);
  try {
    const auto info = posix_files().stat(path);
    if (!info) throw not_found("{}: no such file", path);
    if (info->is_dir) return from_folder(call, path, place);
    if (!path.ends_with(".py")) throw invalid_argument("{}: not a script (.py)", path);
    const std::string name = name_of(path);
    return {.files = {{name, posix_files().read(path)}}, .entry = name, .arguments = {}};
  } catch (const fs::filesystem_error& error) {
    throw error_at(place, Code::kUnknown, fmt::format("{}: {}", path, error.code().message()));
  } catch (const Error& error) {
    if (error.message().find(place.text()) == 0) throw;
    throw error_at(place, error);
  }
}

size_t indent_of(const std::string& line) { return line.find_first_not_of(' '); }

// The `command` among the lines below `name:`.
std::string command_of(const std::vector<std::string>& lines, std::string_view name) {
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t outer = indent_of(lines[i]);
    if (outer == std::string::npos || lines[i].substr(outer) != fmt::format("{}:", name)) continue;
    for (size_t j = i + 1; j < lines.size(); ++j) {
      const size_t inner = indent_of(lines[j]);
      if (inner == std::string::npos) continue;
      if (inner <= outer) break;
      std::string text = lines[j].substr(inner);
      if (!text.starts_with("command:")) continue;
      text = text.substr(std::min(text.size(), text.find_first_not_of(' ', 8)));
      const bool quoted =
          text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
      return quoted ? text.substr(1, text.size() - 2) : text;
    }
  }
  return "";
}

}  // namespace

std::string mlproject_command(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    const size_t end = line.find_last_not_of(" \t\r");
    lines.push_back(end == line.npos ? "" : line.substr(0, end + 1));
  }
  const std::string train = command_of(lines, "train");
  return train.empty() ? command_of(lines, "main") : train;
}

Project dtf_project(const AlgorithmCall& call) {
  Project project;
  const bool path = call.options.has("pythonScriptPath"), old = call.options.has("pythonDescPath");
  if (call.options.has("scripts")) {
    if (path || old) {
      throw error_at(call.options.place_of(path ? "pythonScriptPath" : "pythonDescPath"),
                     Code::kInvalidArgument, "give scripts or a path, not both");
    }
    project = from_tables(call);
  } else if (path || old) {
    project = from_path(call, path ? "pythonScriptPath" : "pythonDescPath");
  } else {
    throw error_at(call.place, Code::kInvalidArgument,
                   "which program? give scripts (tables that hold it) or pythonScriptPath");
  }
  if (call.options.has("condaFile")) {
    const std::string text = text_in(call, call.options.text("condaFile"), "condaFile");
    if (text.find_first_not_of(" \t\r\n") != text.npos)
      project.files.push_back({"conda.yaml", text});
  }
  return project;
}

}  // namespace capstan::script
