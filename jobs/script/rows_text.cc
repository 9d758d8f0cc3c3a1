#include "jobs/script/rows_text.h"

#include "base/printable.h"
#include "jobs/json_text.h"
#include "jobs/text_table.h"

namespace capstan::script {
namespace {

// One line, without what a terminal would obey.
std::string one_line(std::string_view text) {
  std::string out;
  for (char c : printable(text)) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      out += c;
  }
  return out;
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<int64_t>(cell) || std::holds_alternative<double>(cell) ||
         std::holds_alternative<Number>(cell);
}

// Numbers stand one below the other, and their header above them.
void align_right(std::vector<jobs::Row>& lines, const Rows& rows, size_t column) {
  size_t width = 0;
  bool numbers = false;
  for (const auto& row : rows.rows) {
    const bool null = std::holds_alternative<std::monostate>(row[column]);
    if (!null && !is_number(row[column])) return;
    numbers = numbers || !null;
  }
  if (!numbers) return;
  for (const jobs::Row& line : lines) width = std::max(width, jobs::width_of(line[column]));
  for (jobs::Row& line : lines) {
    line[column].insert(0, std::string(width - jobs::width_of(line[column]), ' '));
  }
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

// An empty text is not a null.
std::string csv_cell(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text && text->empty() ? "\"\"" : csv_field(cell_text(cell));
}

std::string csv_header(const std::vector<Column>& columns) {
  std::string out;
  for (size_t i = 0; i < columns.size(); ++i) out += (i ? "," : "") + csv_field(columns[i].name);
  return out + "\n";
}

struct AddToJson {
  jobs::JsonObject& object;
  const Column& column;

  void operator()(std::monostate) const { object.add_json(column.name, "null"); }
  void operator()(bool value) const { object.add(column.name, value); }
  void operator()(int64_t value) const { object.add(column.name, value); }
  void operator()(double value) const { object.add(column.name, value); }
  void operator()(const Number& value) const { object.add_json(column.name, value.digits); }
  void operator()(const std::string& text) const {
    holds_json(column) ? object.add_json(column.name, text) : object.add(column.name, text);
  }
};

}  // namespace

std::string rows_as_table(const Rows& rows, size_t widest, bool bold) {
  std::vector<jobs::Row> lines(1);
  for (const Column& column : rows.columns) lines[0].push_back(one_line(column.name));
  for (const auto& row : rows.rows) {
    lines.emplace_back();
    for (const Cell& cell : row) lines.back().push_back(one_line(cell_text(cell)));
  }
  for (size_t i = 0; i < rows.columns.size(); ++i) align_right(lines, rows, i);
  std::string out;
  for (const std::string& line : jobs::text_table(lines, widest)) {
    const bool header = out.empty() && bold;
    out += header ? "\x1b[1m" + line + "\x1b[0m\n" : line + "\n";
  }
  return out;
}

std::string rows_as_json(const Rows& rows) {
  std::string out;
  for (const auto& row : rows.rows) {
    jobs::JsonObject object;
    for (size_t i = 0; i < row.size(); ++i) std::visit(AddToJson{object, rows.columns[i]}, row[i]);
    out += object.text() + "\n";
  }
  return out;
}

std::string rows_as_csv(const Rows& rows) {
  std::string out = rows.first == 0 ? csv_header(rows.columns) : "";
  for (const auto& row : rows.rows) {
    for (size_t i = 0; i < row.size(); ++i) out += (i ? "," : "") + csv_cell(row[i]);
    out += "\n";
  }
  return out;
}

}  // namespace capstan::script
