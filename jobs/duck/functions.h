#pragma once

// Functions over tensors as functions of SQL.

#include <string>

#include "jobs/duck/connection.h"
#include "jobs/script/engine.h"

namespace capstan::duck {

// Arguments are cast to what the function takes: f(1, '2') works where numbers are expected. A
// function of the same name is replaced. Throws InvalidArgument for a type that SQL has not.
void add_sql_function(Link& link, script::Function function);

}  // namespace capstan::duck
