#pragma once

// The flat part of protobuf's text format: lines of `name: value`, without nested messages. The
// file "checkpoint" is written in it.

#include <string>
#include <string_view>
#include <vector>

namespace capstan {

struct TextField {
  std::string name;
  std::string value;  // unquoted
  bool quoted = false;
  int line = 0;

  // Throw DataLoss with the file and the line when the value is of the other kind.
  const std::string& text(const std::string& file) const;
  double number(const std::string& file) const;
};

// In the order of the file; comments (#) are skipped. DataLoss names the file and the line.
std::vector<TextField> parse_text_fields(std::string_view text, const std::string& file);

// With quotes around it, and escapes for what cannot stand between them.
std::string quote_text(std::string_view text);

}  // namespace capstan
