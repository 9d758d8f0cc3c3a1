#pragma once

// What the commands share when they parse their words.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "main/options.h"

namespace capstan::cli {

struct UsageError {
  std::string message;
};

// Asks a command for its options, one in a line, instead of doing it.
constexpr const char* kListOptions = "--list-options";

// Parses the options before the program; what follows it belongs to the program. Prints the help,
// and throws CLI::CallForHelp, when that is asked for.
std::vector<std::string> parse_prefix(CLI::App& app, std::vector<std::string> args);

// The same, and nothing may be left over.
void parse_all(CLI::App& app, const std::vector<std::string>& args);

// Options and words in any order.
void parse_words(CLI::App& app, std::vector<std::string> args);

// NAME=VALUE of --env. Throws UsageError that names the command.
std::pair<std::string, std::string> env_entry(const CLI::App& app, const std::string& text);

// --local, --kubeconfig, --context, --namespace.
void add_where(CLI::App& app, Where& where);

int command_run(const std::vector<std::string>& args);
int command_sql(const std::vector<std::string>& args);
int command_operator(const std::vector<std::string>& args);
int command_jobs(const std::vector<std::string>& args);
int command_status(const std::vector<std::string>& args);
int command_logs(const std::vector<std::string>& args);
int command_stop(const std::vector<std::string>& args);
int command_rm(const std::vector<std::string>& args);
int command_validate(const std::vector<std::string>& args);
int command_apply(const std::vector<std::string>& args);
int command_get(const std::vector<std::string>& args);
int command_describe(const std::vector<std::string>& args);
int command_wait(const std::vector<std::string>& args);
int command_scale(const std::vector<std::string>& args);
int command_suspend(const std::vector<std::string>& args);
int command_resume(const std::vector<std::string>& args);
int command_delete(const std::vector<std::string>& args);
int command_completion(const std::vector<std::string>& args);

}  // namespace capstan::cli
