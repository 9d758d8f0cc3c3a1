#pragma once

// How the values of a column become cells, exactly: what SQL casts them to, and how vectors of that
// are read. Nested values become JSON, with their numbers as they are.

#include <string>
#include <vector>

#include "jobs/duck/api.h"
#include "jobs/script/table.h"

namespace capstan::duck {

struct CellType {
  enum class Manner { kPlain, kDigits, kJson };

  // `type` stays the caller's.
  static CellType of(const Api& api, Type type);

  TypeId id = TypeId::kVarchar;     // after the cast
  Manner manner = Manner::kPlain;   // what text is: text, a number, or JSON
  bool is_cast = false;             // `sql` is another type than the column's own
  std::string sql;                  // the type that SQL casts to
  std::vector<std::string> fields;  // of a struct
  std::vector<CellType> parts;  // of lists and arrays one, of structs one per field, of maps two
  uint64_t length = 0;          // of an array
};

// Appends the rows of a chunk whose columns are of these types.
void append_cells(const Api& api, const std::vector<CellType>& types, Chunk chunk,
                  std::vector<std::vector<script::Cell>>& rows);

}  // namespace capstan::duck
