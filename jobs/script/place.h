#pragma once

// Where something stands in a script, and errors that show it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace capstan::script {

// A text with a name: a file, `-e`, the body of a macro.
struct Source {
  std::string name;
  std::string text;
};

struct Place {
  std::shared_ptr<const Source> source;
  size_t offset = 0;

  int line() const;    // from 1
  int column() const;  // from 1, in characters
  // "job.mlsql:3:7"
  std::string text() const;
};

// "job.mlsql:3:7: <message>", then the line of the script and a caret below the place. Tabs and
// control characters of the script are shown so that the caret still fits and no terminal obeys.
Error error_at(const Place& place, Code code, std::string_view message);
// The same with the code and message of an error that came from below.
Error error_at(const Place& place, const Error& error);
// A text of the script as errors show it: one line, cut, and nothing that a terminal obeys.
std::string shown(std::string_view text);
// Whether the error begins with a place of the same source already.
bool tells_place(const Error& error, const Place& place);

}  // namespace capstan::script
