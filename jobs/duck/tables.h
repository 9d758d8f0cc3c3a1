#pragma once

// The tables of a script by name. A name is a view of a stored table, so that a table under a
// second name costs nothing and one that is replaced may be read by what replaces it.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jobs/duck/connection.h"
#include "jobs/script/table.h"
#include "jobs/script/words.h"

namespace capstan::duck {

class Tables {
 public:
  explicit Tables(Link& link) : link_(link) {}

  struct Entry {
    std::string name;                           // as the script wrote it first
    std::shared_ptr<const std::string> stored;  // in SQL
    int partitions = 1;
  };

  // A stored table that is dropped from the store with the last entry that holds it.
  std::shared_ptr<const std::string> fresh();
  void publish(const std::string& name, std::shared_ptr<const std::string> stored,
               int partitions = 1);
  void drop(const std::string& name);

  // Throws NotFound with the nearest name.
  const Entry& find(const std::string& name) const;
  bool has(const std::string& name) const;
  std::vector<std::string> names() const;

  // Of a stored table.
  std::vector<script::Column> columns(const std::string& stored) const;
  int64_t count(const std::string& stored) const;

 private:
  Link& link_;
  int made_ = 0;
  std::map<std::string, Entry> entries_;  // by name in small letters: SQL does not tell them apart
};

using script::lower;

}  // namespace capstan::duck
