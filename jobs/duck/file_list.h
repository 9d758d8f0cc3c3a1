#pragma once

// The files that a path of a script stands for.

#include <string>
#include <vector>

namespace capstan::duck {

// A file, all files below a folder, or what a pattern (* ? [a-z] {a,b}) matches; sorted. Names that
// begin with `_` or `.` are nobody's data. Throws NotFound for none; PermissionDenied for a link
// that leads out of the folder where the search began.
std::vector<std::string> list_files(const std::string& path);

}  // namespace capstan::duck
