#pragma once

// Rows of another store, one that may read files, become a table of the closed one: the closed
// store asks for chunk after chunk through a table function, so no more than a few are ever in
// memory.

#include <exception>
#include <functional>
#include <string>

#include "jobs/duck/connection.h"

namespace capstan::duck {

class Pull {
 public:
  // Adds the table function; `link` is one of the closed store.
  explicit Pull(Link& link);
  Pull(const Pull&) = delete;

  // `CREATE TABLE <table> AS` all rows of `source`. `rename` gives each column its name. What the
  // source throws on the way is thrown here as it is.
  void into(const std::string& table, Result& source,
            const std::function<std::string(const std::string& name)>& rename);

 private:
  void bind(BindInfo info);
  void fill(CallInfo info, Chunk out);

  Link& link_;
  Result* source_ = nullptr;
  const std::function<std::string(const std::string&)>* rename_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace capstan::duck
