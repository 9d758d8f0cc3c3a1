#include "jobs/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace capstan::jobs {
namespace {

bool begins_a_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

size_t width_of(std::string_view text) {
  return size_t(std::ranges::count_if(text, begins_a_character));
}

std::string cut_to(std::string_view text, size_t characters) {
  if (width_of(text) <= characters) return std::string(text);
  size_t end = 0;
  for (size_t seen = 0; end < text.size(); ++end) {
    if (begins_a_character(text[end]) && ++seen > characters) break;
  }
  return std::string(text.substr(0, end));
}

std::vector<std::string> text_table(const std::vector<Row>& rows, size_t widest) {
  std::vector<size_t> width;
  for (const Row& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], width_of(row[i]));
  }
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(width[i] - width_of(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(widest > 0 ? cut_to(line, widest) : line);
  }
  return lines;
}

std::string duration_text(double seconds) {
  auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
}

}  // namespace capstan::jobs
