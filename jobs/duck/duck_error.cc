#include "jobs/duck/duck_error.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "jobs/script/sql_error.h"

namespace capstan::duck {
namespace {

struct KindCode {
  std::string_view kind;
  Code code;
};

constexpr KindCode kCodes[] = {
    {"Parser", Code::kInvalidArgument},
    {"Syntax", Code::kInvalidArgument},
    {"Binder", Code::kInvalidArgument},
    {"Catalog", Code::kInvalidArgument},
    {"Conversion", Code::kInvalidArgument},
    {"Invalid Input", Code::kInvalidArgument},
    {"Invalid type", Code::kInvalidArgument},
    {"Mismatch Type", Code::kInvalidArgument},
    {"Out of Range", Code::kOutOfRange},
    {"Constraint", Code::kInvalidArgument},
    {"Divide by Zero", Code::kInvalidArgument},
    {"Not implemented", Code::kUnimplemented},
    {"Parameter Not Resolved", Code::kInvalidArgument},
    {"Parameter Not Allowed", Code::kInvalidArgument},
    {"Expression", Code::kInvalidArgument},
    {"Permission", Code::kPermissionDenied},
    {"IO", Code::kUnavailable},
    {"INTERRUPT", Code::kCancelled},
    {"Interrupt", Code::kCancelled},
    {"Out of Memory", Code::kResourceExhausted},
    {"Missing Extension", Code::kPermissionDenied},
    {"Extension Autoloading", Code::kPermissionDenied},
    {"Dependency", Code::kFailedPrecondition},
    {"TransactionContext", Code::kFailedPrecondition},
};

std::string member(const nlohmann::json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<size_t> number(const std::string& text) {
  size_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

DuckError read_duck_error(std::string_view text) {
  size_t brace = text.find('{');
  nlohmann::json object;
  if (brace != text.npos) object = nlohmann::json::parse(text.substr(brace), nullptr, false);
  if (!object.is_object() || !object.contains("exception_message")) {
    size_t end = text.find(" Error: ");
    if (end == text.npos) return {"", "", "", std::string(text), std::nullopt};
    return {std::string(text.substr(0, end)), "", "", std::string(text.substr(end + 8)),
            std::nullopt};
  }
  return {member(object, "exception_type"), member(object, "error_subtype"), member(object, "type"),
          member(object, "exception_message"), number(member(object, "position"))};
}

Code code_of(const DuckError& error) {
  if (error.kind == "Catalog" && error.type == "Table") return Code::kNotFound;
  for (const KindCode& row : kCodes) {
    if (row.kind == error.kind) return row.code;
  }
  return Code::kInternal;
}

void throw_duck_error(std::string_view text) {
  DuckError error = read_duck_error(text);
  // Settings, which are not the script's to change.
  error.message.resize(
      std::min(error.message.find("\n\nPossible solutions:"), error.message.size()));
  Code code = code_of(error);
  if (code == Code::kCancelled) throw cancelled("the query was interrupted");
  if (error.offset) throw script::SqlError(code, error.message, *error.offset);
  throw Error(code, error.message);
}

}  // namespace capstan::duck
