#include <fmt/format.h>

#include <algorithm>

#include "main/options.h"
#include "main/parse.h"

namespace capstan::cli {
namespace {

bool is_name(const std::string& text) {
  auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  return !text.empty() && std::ranges::all_of(text, fits);
}

std::pair<std::string, std::string> variable(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || !is_name(text.substr(0, equals))) {
    throw UsageError{"capstan sql: --set " + text + ": expected NAME=VALUE"};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

int command_sql(const std::vector<std::string>& args) {
  CLI::App app("Runs a job script: SQL that prepares data, trains a cluster and uses the model",
               "capstan sql");
  SqlOptions options;
  std::vector<std::string> variables;
  app.add_option("script", options.file, "The script, or - for standard input");
  app.add_option("-e,--execute", options.text, "The script itself, instead of a file");
  app.add_option("--set", variables, "NAME=VALUE, used as ${NAME}; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--output", options.output, "The last table as table, json (a line each) or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->capture_default_str();
  app.add_option("--root", options.root, "Absolute paths of the script lie below this folder");
  app.add_option("--python", options.python, "Interpreter of trainings without PYTHON_ENV");
  app.add_flag("--allow-shell", options.allow_shell,
               "Let `set … where type=\"shell\"` run commands");
  app.add_flag("--quiet", options.quiet, "Show failures and the last table, not what tasks print");
  app.footer(
      "The last table goes to standard output, all else to standard error. Stops at the first\n"
      "statement that fails, and says where it stands.\n\n"
      "Examples:\n"
      "  capstan sql job.mlsql\n"
      "  capstan sql --set day=2026-11-16 --output csv report.mlsql > report.csv\n"
      "  capstan sql -e 'select 1 as a as t;'\n"
      "  capstan sql --root ~/sandbox job.mlsql     /tmp/model is ~/sandbox/tmp/model\n");
  parse_words(app, args);
  const bool text = app.count("--execute") > 0;
  if (text == !options.file.empty()) {
    throw UsageError{text ? "capstan sql: give a file or -e, not both"
                          : "capstan sql: which script? capstan sql --help"};
  }
  for (const std::string& entry : variables) options.variables.push_back(variable(entry));
  return run_sql(options);
}

}  // namespace capstan::cli
