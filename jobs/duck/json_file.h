#pragma once

// What DuckDB does not tell of a JSON file: how it is laid out, and in which line something stands.

#include <string>
#include <vector>

namespace capstan::duck {

// "newline_delimited": one object in each line; "array": one array of objects; "auto": both, or
// what cannot be told from the first bytes (packed files).
std::string json_layout(const std::vector<std::string>& files);

// Lines count from 1; 0: there is none.
// Where the file stops being JSON. `loose`: values may span lines.
size_t line_of_bad_json(const std::string& file, bool loose);
// Of the first row that is no object.
size_t line_of_no_object(const std::string& file);
// Of the element of the array that the file is, counted from 1.
size_t line_of_element(const std::string& file, size_t number);

}  // namespace capstan::duck
