#include "script/script_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "base/files.h"
#include "jobs/script/interpreter.h"
#include "jobs/script/words.h"
#include "script/no_jobs.h"
#include "source_dir.h"

namespace capstan::script {
namespace {

constexpr std::string_view kCase = "=== ";
constexpr std::string_view kSection = ">>> ";

void read_line(std::vector<ScriptCase>& cases, const std::string& file, const std::string& line) {
  if (line.starts_with(kCase)) {
    cases.push_back({file, line.substr(kCase.size()), {}});
  } else if (line.starts_with(kSection) && !cases.empty()) {
    const std::string head = line.substr(kSection.size());
    const size_t space = std::min(head.find(' '), head.size());
    cases.back().sections.push_back(
        {head.substr(0, space), std::string(trimmed(head.substr(space))), {}});
  } else if (!cases.empty() && !cases.back().sections.empty()) {
    cases.back().sections.back().text += line + "\n";
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (!trimmed(line).empty()) lines.emplace_back(trimmed(line));
  }
  return lines;
}

std::string shown(const Cell& cell) {
  return std::holds_alternative<std::monostate>(cell) ? "NULL" : cell_text(cell);
}

std::string shown(const Rows& rows) {
  std::vector<std::string> names;
  for (const Column& column : rows.columns) names.push_back(column.name);
  std::string out = fmt::format("{}\n", fmt::join(names, " | "));
  for (const auto& row : rows.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(shown(cell));
    out += fmt::format("{}\n", fmt::join(cells, " | "));
  }
  return out;
}

void write_file(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  auto file = posix_files().create(path);
  file->append(text);
  file->close();
}

std::string differs(std::string_view what, const std::vector<std::string>& wanted,
                    const std::vector<std::string>& got) {
  if (wanted == got) return {};
  return fmt::format("{} differs; expected:\n{}\ngot:\n{}\n", what, fmt::join(wanted, "\n"),
                     fmt::join(got, "\n"));
}

// "InvalidArgument 1:8", or with the source: "NotFound a.mlsql:1:8"; then texts of the message.
std::string check_error(const ScriptCase::Section& section, const std::optional<Error>& error) {
  if (!error) return "an error was expected, and none came\n";
  const std::string place = section.argument.substr(section.argument.find(' ') + 1);
  const bool named = place.find(':') != place.rfind(':');
  const std::string front = fmt::format("{}{}:", named ? "" : "case:", place);
  const std::string code = section.argument.substr(0, section.argument.find(' '));
  std::string out;
  if (code != code_name(error->code())) out += fmt::format("the code is not {}\n", code);
  if (!error->message().starts_with(front)) out += fmt::format("the place is not {}\n", front);
  for (const std::string& part : lines_of(section.text)) {
    if (error->message().find(part) == std::string::npos)
      out += fmt::format("the message lacks: {}\n", part);
  }
  return out.empty() ? out : out + error->what() + "\n";
}

struct Outcome {
  KeepingListener listener;
  std::optional<Error> error;
};

std::string check(const ScriptCase::Section& section, const Outcome& outcome) {
  if (section.kind == "error") return check_error(section, outcome.error);
  if (section.kind == "result") {
    const std::string got = outcome.listener.last ? shown(*outcome.listener.last) : "nothing";
    return differs("result", lines_of(section.text), lines_of(got));
  }
  if (section.kind == "log")
    return differs("log", lines_of(section.text), lines_of(outcome.listener.logs));
  if (section.kind == "note")
    return differs("note", lines_of(section.text), lines_of(outcome.listener.notes));
  return {};
}

bool is_check(const ScriptCase::Section& section) {
  return section.kind == "error" || section.kind == "result" || section.kind == "log" ||
         section.kind == "note";
}

std::time_t noon_of_a_day() {
  std::tm day{};
  day.tm_year = 2026 - 1900;
  day.tm_mon = 10;
  day.tm_mday = 17;
  day.tm_hour = 12;
  day.tm_isdst = -1;
  return std::mktime(&day);
}

// What stands before the script: files of home and of the root, links, values of --set.
void prepare(const ScriptCase::Section& section, Session& session, const std::string& scratch) {
  if (section.kind == "file") write_file(scratch + "/home/" + section.argument, section.text);
  if (section.kind == "root") write_file(scratch + "/root/" + section.argument, section.text);
  if (section.kind == "outside") write_file(scratch + "/outside/" + section.argument, section.text);
  if (section.kind == "link") {
    const std::string link = scratch + "/root/" + section.argument;
    std::filesystem::create_directories(std::filesystem::path(link).parent_path());
    std::filesystem::create_symlink(scratch + "/" + lines_of(section.text).at(0), link);
  }
  if (section.kind == "set") {
    const size_t equals = section.argument.find('=');
    session.variables[section.argument.substr(0, equals)] = {section.argument.substr(equals + 1)};
  }
  if (section.kind == "allow") session.allow_shell = section.argument == "shell";
}

void run(Session& session, const std::string& text, Outcome& outcome) {
  try {
    run_script(session, {"case", text});
  } catch (const Error& error) {
    outcome.error = error;
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ScriptCase& script_case) {
  return out << script_case.file << ": " << script_case.name;
}

std::vector<ScriptCase> all_cases() {
  std::vector<ScriptCase> cases;
  const std::string folder = std::string(source_dir()) + "/tests/script/cases";
  for (const std::string& name : posix_files().list(folder)) {
    if (!name.ends_with(".txt")) continue;
    std::istringstream in(posix_files().read(folder + "/" + name));
    for (std::string line; std::getline(in, line);) read_line(cases, name, line);
  }
  return cases;
}

std::string test_name(const ScriptCase& script_case) {
  std::string out;
  for (char c : script_case.file.substr(0, script_case.file.find('.')) + "_" + script_case.name) {
    if (is_word_char(c))
      out += c;
    else if (!out.ends_with('_'))
      out += '_';
  }
  return out;
}

bool is_for(const ScriptCase& script_case, std::string_view engine) {
  return std::ranges::none_of(script_case.sections, [&](const auto& section) {
    return (section.kind == "fake" || section.kind == "duck") && section.kind != engine;
  });
}

std::string run_case(const ScriptCase& script_case, Engine& engine, const std::string& scratch) {
  std::filesystem::create_directories(scratch + "/home");
  std::filesystem::create_directories(scratch + "/root");
  Outcome outcome;
  NoJobs jobs;
  Session session(engine, jobs, Paths(scratch + "/home", scratch + "/root"), outcome.listener);
  session.owner = "tester";
  session.jobs_dir = scratch + "/jobs";
  session.clock = noon_of_a_day;
  std::string out;
  bool checked_error = false, checked = false;
  for (const ScriptCase::Section& section : script_case.sections) {
    prepare(section, session, scratch);
    if (section.kind == "script") run(session, section.text, outcome);
    if (!is_check(section)) continue;
    out += check(section, outcome);
    checked = true;
    checked_error = checked_error || section.kind == "error";
  }
  if (outcome.error && !checked_error)
    out += std::string("an error came: ") + outcome.error->what();
  return checked ? out : "the case checks nothing";
}

std::vector<std::string> case_scripts() {
  std::vector<std::string> out;
  for (const ScriptCase& script_case : all_cases()) {
    for (const ScriptCase::Section& section : script_case.sections) {
      if (section.kind == "script") out.push_back(section.text);
    }
  }
  return out;
}

}  // namespace capstan::script
