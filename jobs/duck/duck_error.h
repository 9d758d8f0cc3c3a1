#pragma once

// DuckDB's errors as ours.

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace capstan::duck {

struct DuckError {
  std::string kind;     // "Parser", "Catalog", "Conversion", …
  std::string subtype;  // "MISSING_ENTRY", …
  std::string type;     // of what is missing: "Table", …
  std::string message;
  std::optional<size_t> offset;  // in the SQL
};

// Reads what DuckDB says with errors_as_json on; text that is not of that form is the message.
DuckError read_duck_error(std::string_view text);
// Never returns; SqlError where the offset is known.
[[noreturn]] void throw_duck_error(std::string_view text);
Code code_of(const DuckError& error);

}  // namespace capstan::duck
