#pragma once

// Sorted tables of keys and values in one file: LevelDB's table format with plain keys, as the
// index of a tensor bundle uses it.

#include <map>
#include <string>
#include <string_view>

namespace capstan {

using TableEntries = std::map<std::string, std::string, std::less<>>;

std::string build_table(const TableEntries& entries);

// All entries. The bytes are not trusted; DataLoss names the file and what is wrong in it. Takes at
// most about 64 times the memory that the file has.
TableEntries read_table(std::string_view bytes, const std::string& name);

}  // namespace capstan
